// The connection to the proxy: fetch and not EventSource, which cannot send a token. The token is nowhere but here.

const first = 200; // milliseconds until the next try; each one waits longer
const longest = 2000;
const silence = 5000; // the proxy sends each second: after this the connection is no good

let token = "";

// Denied is that the token is missing or another one.
export class Denied extends Error {}

async function request(path, signal) {
  const headers = token === "" ? {} : { Authorization: `Bearer ${token}` };
  const answer = await fetch(path, { headers, signal, cache: "no-store", credentials: "omit", redirect: "error" });
  if (answer.ok) return answer;
  let message = `the proxy answers ${answer.status}`;
  try {
    message = (await answer.json()).error;
  } catch {
    // not from the proxy's API: the number must do
  }
  throw answer.status === 401 ? new Denied(message) : new Error(message);
}

// get returns what the API answers.
export async function get(path) {
  return (await request(path, AbortSignal.timeout(silence))).json();
}

// follow passes on all events, for ever. on has opened(), lost(why), denied(why), which returns a promise of a token,
// and a function for each kind of event.
export async function follow(path, on) {
  let wait = first;
  for (;;) {
    try {
      await listen(path, on, () => {
        wait = first;
      });
      on.lost("");
    } catch (problem) {
      if (problem instanceof Denied) {
        token = await on.denied(token === "" ? "" : problem.message);
        continue;
      }
      on.lost(problem.name === "Error" ? problem.message : "");
    }
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(wait * 1.6, longest);
  }
}

async function listen(path, on, opened) {
  const stop = new AbortController();
  let guard = setTimeout(() => stop.abort(), silence);
  try {
    const answer = await request(path, stop.signal);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    let heard = false;
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(guard);
      guard = setTimeout(() => stop.abort(), silence);
      if (!heard) {
        heard = true;
        opened();
        on.opened();
      }
      const messages = (rest + value).split("\n\n");
      rest = messages.pop();
      for (const message of messages) pass(message, on);
    }
  } finally {
    clearTimeout(guard);
    stop.abort();
  }
}

function pass(message, on) {
  let event = "";
  let data = "";
  for (const line of message.split("\n")) {
    if (line.startsWith("event: ")) event = line.slice(7);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  if (event in on.events) on.events[event](JSON.parse(data));
}
