// What the page knows: the newest state, five minutes of samples, and what happened.

import { duration } from "./format.js";

const span = 300_000; // of the lines, milliseconds
const window = 10_000; // that rates go over
const keptEvents = 100;

// Model takes in what the proxy sends; nothing here touches the page.
export class Model {
  state = null;
  samples = new Map(); // by server: {t, state, lag, missing, reads, others}, oldest first
  events = []; // newest first
  #counts = []; // {t, reads, falls} of the last window
  #started = "";
  #known = new Set(); // keys of events

  // take keeps a state, and returns the changes of states of servers as sentences.
  take(state) {
    const before = this.state;
    const t = Date.parse(state.time);
    if (this.#started !== "" && this.#started !== state.status.started) {
      this.#counts = [];
      this.note("the proxy has been started again");
    }
    this.#started = state.status.started;
    this.state = state;
    for (const s of state.servers) {
      this.#add(s.name, { t, state: s.state, lag: s.state === "offline" ? null : s.lag_seconds, missing: s.missing_transactions,
        reads: s.reads_per_second, others: s.others_per_second });
    }
    for (const name of this.samples.keys()) {
      if (!state.servers.some((s) => s.name === name)) this.samples.delete(name);
    }
    this.#counts.push({ t, reads: new Map(state.reads.map((r) => [r.level, r])), falls: new Map(state.fall_backs.map((f) => [f.reason, f.count])) });
    while (this.#counts.length > 2 && this.#counts[1].t <= t - window) this.#counts.shift();
    this.#lagging(before, state);
    return changes(before, state);
  }

  // #lagging keeps what the proxy tells no event for: the server is online, and further behind than reads may see.
  #lagging(before, now) {
    const old = new Map((before?.servers ?? []).map((s) => [s.name, s.state]));
    for (const s of now.servers) {
      const was = old.get(s.name);
      const behind = s.lag_seconds === null ? "how far is unknown" : duration(s.lag_seconds);
      if (s.state === "lagging" && was === "online") this.note(`is lagging, was online: ${behind}`, "warn", s.name);
      if (s.state === "online" && was === "lagging") this.note("is online, was lagging", "good", s.name);
    }
  }

  #add(name, sample) {
    let line = this.samples.get(name);
    if (line === undefined) this.samples.set(name, (line = []));
    if (line.length > 0 && sample.t <= line.at(-1).t) return;
    // Of many states in a second, each event brings one, no more than two points are kept.
    if (line.length > 1 && sample.t - line.at(-2).t < 500 && sample.state === line.at(-1).state) line.pop();
    line.push(sample);
    while (line[0].t < sample.t - span) line.shift();
  }

  // past takes in the samples that the proxy has kept. Its rates are those of a second, and become those of ten, as a
  // state's are.
  past(history) {
    const fresh = new Map();
    for (const one of history) {
      const t = Date.parse(one.time);
      for (const [name, s] of Object.entries(one.servers)) {
        if (!fresh.has(name)) fresh.set(name, []);
        fresh.get(name).push({ t, state: s.state, lag: s.lag_seconds, missing: s.missing_transactions, reads: s.reads_per_second, others: s.others_per_second });
      }
    }
    for (const [name, line] of fresh) {
      const smooth = line.map((s, i) => {
        const near = line.slice(Math.max(0, i - 9), i + 1);
        const mean = (what) => near.reduce((sum, n) => sum + n[what], 0) / near.length;
        return { ...s, reads: mean("reads"), others: mean("others") };
      });
      const first = smooth[0].t;
      const last = smooth.at(-1).t;
      const own = this.samples.get(name) ?? [];
      this.samples.set(name, [...own.filter((s) => s.t < first), ...smooth, ...own.filter((s) => s.t > last)]);
    }
  }

  // happened keeps an event; after a new connection the proxy tells those again that it has.
  happened(e) {
    const key = JSON.stringify(e);
    if (this.#known.has(key)) return;
    this.#known.add(key);
    this.#keep({ key, time: new Date(e.time), server: e.server ?? "", sentence: sentence(e), tone: toneOf(e) });
  }

  // note keeps what the page itself has seen.
  note(sentence, tone = "info", server = "") {
    const time = new Date();
    this.#keep({ key: `${time.getTime()} ${server} ${sentence}`, time, server, sentence, tone });
  }

  #keep(event) {
    this.events.unshift(event);
    this.events.sort((a, b) => b.time - a.time);
    for (const gone of this.events.splice(keptEvents)) this.#known.delete(gone.key);
  }

  // perSecond returns how often reads fell back for a reason in the last ten seconds.
  perSecond(reason) {
    const [was, is] = [this.#counts[0], this.#counts.at(-1)];
    if (is === undefined || is.t === was.t) return 0;
    return (1000 * ((is.falls.get(reason) ?? 0) - (was.falls.get(reason) ?? 0))) / (is.t - was.t);
  }

  // reads returns the reads of a level in the last ten seconds.
  reads(level) {
    const [was, is] = [this.#counts[0], this.#counts.at(-1)];
    const of = (count, role) => count.reads.get(level)?.[role] ?? 0;
    const replica = of(is, "replica") - of(was, "replica");
    const primary = of(is, "primary") - of(was, "primary");
    return { replica, primary, seconds: Math.max(1, is.t - was.t) / 1000 };
  }
}

function changes(before, now) {
  if (before === null) return [];
  const old = new Map(before.servers.map((s) => [s.name, s]));
  const said = [];
  if ((before.status.primary ?? "") !== (now.status.primary ?? "")) {
    said.push(now.status.primary ? `${now.status.primary} is the primary` : "no primary is known");
  }
  for (const s of now.servers) {
    const was = old.get(s.name);
    if (was === undefined) said.push(`${s.name} is new: ${s.state}`);
    else if (was.state !== s.state) said.push(`${s.name} is ${s.state}, was ${was.state}${s.why ? `: ${s.why}` : ""}`);
  }
  return said;
}

const sentences = {
  "state-changed": (e) => `is ${e.new}, was ${e.old}`,
  "primary-lost": (e) => `${e.old} was the primary, and now there is none`,
  "primary-changed": (e) => (e.old ? `${e.new} is the primary, after ${e.old}` : `${e.new} is the primary`),
  "lost-writes": (e) => `${e.new} became the primary after ${e.old}, without all that ${e.old} had`,
  "two-primaries": () => "two servers look like the primary, so none is trusted",
  restarted: () => "has been started again",
  replaced: () => "is another server than before",
  "position-lost": () => "has lost a part of what it had",
  "errant-transaction": () => "has transactions that the primary does not have",
};

function sentence(e) {
  const known = sentences[e.kind];
  const text = known ? known(e) : [e.kind, e.old, e.new].filter(Boolean).join(" ");
  return e.detail ? `${text}: ${e.detail}` : text;
}

function toneOf(e) {
  if (e.kind === "state-changed") return e.new === "online" ? "good" : "bad";
  if (e.kind === "primary-changed") return "good";
  return ["restarted", "replaced"].includes(e.kind) ? "warn" : "bad";
}
