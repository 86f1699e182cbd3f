// Puts the page together: what the proxy sends goes into the model, and the model is shown at most once a frame.

import { attr, byId, show, text } from "./dom.js";
import { age, clock, ctl } from "./format.js";
import { Model } from "./model.js";
import { findings, nowList, title } from "./now.js";
import { configTable, eventList, fallsTable, readsTable, sessionTable } from "./sections.js";
import { serverList } from "./servers.js";
import { follow, get } from "./stream.js";

const oldAfter = 3000; // milliseconds without a word until what is shown is called old
const configEvery = 15_000;

const model = new Model();
const parts = [
  serverList(byId("servers")), readsTable(byId("reads")), fallsTable(byId("falls")), sessionTable(byId("sessions")),
];
const showNow = nowList(byId("now"));
const showEvents = eventList(byId("events"));
const showConfig = configTable(byId("config"));

let heardAt = -Infinity; // by performance.now
let lost = false;
let waiting = false;

// later shows the model in the next frame; a page that nobody sees has none.
function later() {
  if (waiting || model.state === null) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    showHead(model.state);
    for (const part of parts) part(model);
    showNow(findings(model));
    showEvents(model.events);
  });
}

function showHead({ status, time }) {
  show(byId("main"), true);
  text(byId("version"), status.version);
  text(byId("ready"), status.ready ? "ready" : "not ready");
  attr(byId("ready"), "data-tone", status.ready ? "good" : "bad");
  text(byId("primary"), status.primary || "none is known");
  attr(byId("primary"), "data-tone", status.primary ? null : "bad");
  text(byId("clients"), String(status.clients));
  text(byId("endpoints"), status.endpoints.join(", "));
  text(byId("uptime"), age((Date.parse(time) - Date.parse(status.started)) / 1000));
  showAge();
}

// showAge tells how old the data is as soon as it is old; until then it stands with its time.
function showAge() {
  if (model.state === null) return;
  const old = performance.now() - heardAt;
  const at = clock(new Date(model.state.time));
  attr(document.body, "data-old", old > oldAfter ? "" : null);
  text(byId("clock"), old > oldAfter ? `${at}, ${age(old / 1000)} old` : at);
}

function setTitle() {
  const now = model.state === null ? (lost ? "? mysqlrw: no connection" : "mysqlrw") : title(findings(model), lost);
  if (document.title !== now) document.title = now;
}

function took(state) {
  heardAt = performance.now();
  const changes = model.take(state);
  if (changes.length > 0) text(byId("announce"), changes.join(". "));
  setTitle();
  later();
}

async function fetchConfig() {
  try {
    showConfig(await get("api/v1/config"));
  } catch {
    // the connection's own end tells what is wrong
  }
}

async function opened() {
  if (lost) model.note("the connection to the proxy is there again", "good");
  lost = false;
  text(byId("banner"), "");
  show(byId("access"), false);
  fetchConfig();
  try {
    model.past(await get("api/v1/history"));
    later();
  } catch {
    // lines begin now
  }
}

function wasLost(why) {
  if (!lost) model.note("the connection to the proxy was lost", "bad");
  lost = true;
  const since = model.state === null ? "" : ` What you see is from ${clock(new Date(model.state.time))}.`;
  text(byId("banner"), `Connection lost, trying again.${since}${why ? ` The last try: ${why}.` : ""}`);
  setTitle();
  later();
}

// denied asks for the token, and returns what is given.
function denied(why) {
  const [form, field] = [byId("token-form"), byId("token")];
  show(byId("access"), true);
  show(byId("main"), false);
  text(byId("banner"), "");
  text(byId("token-problem"), why);
  field.value = "";
  field.focus();
  return new Promise((done) => {
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      const given = field.value.trim();
      field.value = "";
      done(given);
    }, { once: true });
  });
}

for (const node of document.querySelectorAll("[data-ctl]")) text(node, ctl(node.dataset.ctl));
setInterval(() => {
  if (performance.now() - heardAt > oldAfter) showAge();
}, 500);
setInterval(() => {
  if (!lost && model.state !== null && !document.hidden) fetchConfig();
}, configEvery);
follow("api/v1/events", { opened, lost: wasLost, denied, events: { state: took, happened: (e) => { model.happened(e); later(); } } });
