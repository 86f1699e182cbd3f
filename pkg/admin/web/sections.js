// The sections that are lists and tables.

import { attr, byId, el, keyed, table, text } from "./dom.js";
import { age, clock, number, percent, plural, rate } from "./format.js";
import { icon } from "./servers.js";

// readsTable shows the reads of each level, and where they ran.
export function readsTable(parent) {
  const update = table(parent, "Reads by level, and the share that replicas had", [
    { head: "Level", text: (r) => r.level },
    { head: "Replicas /s", numeric: true, text: (r) => rate(r.now.replica / r.now.seconds) },
    { head: "Primary /s", numeric: true, text: (r) => rate(r.now.primary / r.now.seconds) },
    { head: "On replicas", numeric: true, text: (r) => percent(r.now.replica, r.now.replica + r.now.primary) },
    { head: "Since start", numeric: true, text: (r) => number(r.replica + r.primary) },
    { head: "On replicas since start", numeric: true, text: (r) => percent(r.replica, r.replica + r.primary) },
  ], (r) => r.level, "There were no reads yet.");
  return (model) => update(model.state.reads.map((r) => ({ ...r, now: model.reads(r.level) })));
}

// fallsTable shows why reads ran on the primary.
export function fallsTable(parent) {
  const update = table(parent, "Reads on the primary because no replica could have them, by reason", [
    { head: "Reason", text: (f) => f.reason },
    { head: "That is", text: (f) => f.explanation },
    { head: "A second", numeric: true, text: (f) => rate(f.now) },
    { head: "Since start", numeric: true, text: (f) => number(f.count) },
  ], (f) => f.reason, "None did since the proxy was started.", (f) => (f.now > 0 ? "warn" : null));
  return (model) => update(model.state.fall_backs.map((f) => ({ ...f, now: model.perSecond(f.reason) })));
}

// tiesOf has a line for each thing that ties a session to a server.
function tiesOf(s) {
  const lines = s.holds.map((h) => `${h.kind}${h.name ? ` ${h.name}` : ""} on ${h.server}, until ${h.until}`);
  if (s.transaction) lines.unshift(s.transaction === "not begun" ? "transaction, not begun" : `transaction on ${s.transaction}`);
  if (s.kept.length > 0) lines.push(`keeps a connection to ${s.kept.join(", ")}`);
  return lines.join("\n");
}

function whereOf(s) {
  const lines = [];
  if (s.running) lines.push(`runs on ${s.running} for ${age(s.running_seconds)}`);
  if (s.last) lines.push(`last on ${s.last}`);
  if (s.reason) lines.push(`${s.reason}: ${s.explanation}`);
  return lines.join("\n");
}

const isTied = (s) => s.holds.length > 0 || Boolean(s.transaction);

// sessionTable shows the busiest sessions, those that something ties to a server first.
export function sessionTable(parent) {
  const held = byId("held");
  const update = table(parent, "The busiest sessions, with what ties them to a server and why their last statement ran where it did", [
    { head: "ID", text: (s) => String(s.id) },
    { head: "User", text: (s) => s.user },
    { head: "Client", text: (s) => s.client },
    { head: "Schema", text: (s) => s.schema ?? "" },
    { head: "Level", text: (s) => s.level },
    { head: "For", numeric: true, text: (s) => age(s.age_seconds) },
    { head: "Tied to a server by", text: tiesOf },
    { head: "Where it runs, and why", text: whereOf },
  ], (s) => s.id, "Nobody is connected.", (s) => (isTied(s) ? "info" : null));
  return (model) => {
    const { sessions, status, held: ties } = model.state;
    update(sessions.toSorted((a, b) => isTied(b) - isTied(a) || a.id - b.id));
    const kinds = Object.entries(ties).sort().map(([kind, n]) => `${kind} ${n}`);
    const shown = sessions.length < status.clients ? `The ${sessions.length} busiest of ${plural(status.clients, "client")}.` : `${plural(status.clients, "client")}.`;
    text(held, `${shown} Tied to a server by: ${kinds.length > 0 ? kinds.join(", ") : "nothing"}.`);
  };
}

// eventList shows what happened, the newest first.
export function eventList(parent) {
  return keyed(parent, (e) => e.key, (e) => {
    const mark = icon();
    mark.set(e.tone);
    const time = el("time", { datetime: e.time.toISOString() }, clock(e.time));
    const name = e.server === "" ? [] : [el("b", {}, e.server), " "];
    return { node: el("li", { "data-tone": e.tone }, mark.node, time, el("span", {}, ...name, e.sentence)), update() {} };
  });
}

// configTable shows the configuration; what is not the default is first.
export function configTable(parent) {
  const [filter, changed, count] = [byId("config-filter"), byId("config-changed"), byId("config-count")];
  const update = table(parent, "The configuration in force", [
    { head: "Key", text: (v) => v.key },
    { head: "Value", text: (v) => v.value },
    { head: "From", text: (v) => ({ set: "set by an operator", file: "file", default: "default" })[v.from] ?? v.from },
  ], (v) => v.key, "Nothing matches.", (v) => (v.from === "set" ? "warn" : null));
  const strength = { set: 0, file: 1, default: 2 };
  let all = [];
  const showIt = () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    const shown = all.filter((v) => !(changed.checked && v.from === "default") && words.every((w) => `${v.key} ${v.value}`.toLowerCase().includes(w)));
    update(shown.toSorted((a, b) => strength[a.from] - strength[b.from]));
    attr(count, "data-shown", String(shown.length));
    text(count, `${shown.length} of ${plural(all.length, "value")}`);
  };
  filter.addEventListener("input", showIt);
  changed.addEventListener("change", showIt);
  return (values) => {
    all = values;
    showIt();
  };
}
