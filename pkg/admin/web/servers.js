// The servers: the primary, and under it the replicas that it feeds.

import { Chart } from "./chart.js";
import { attr, el, keyed, show, svg, text } from "./dom.js";
import { ctl, duration, milliseconds, number, rate, word } from "./format.js";

const shapes = {
  good: "M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13Zm-1 9.5L3.8 7.8l1.2-1.2L7 8.6l4-4l1.2 1.2Z",
  warn: "M8 1L15.5 14.5H.5ZM7.2 6v4.5h1.6V6Zm0 5.6v1.6h1.6v-1.6Z",
  bad: "M4.8 1h6.4L15 4.8v6.4L11.2 15H4.8L1 11.2V4.8ZM5.7 4.6L4.6 5.7L6.9 8L4.6 10.3l1.1 1.1L8 9.1l2.3 2.3l1.1-1.1L9.1 8l2.3-2.3l-1.1-1.1L8 6.9Z",
  none: "M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13Zm0 1.6a4.9 4.9 0 1 1 0 9.8a4.9 4.9 0 1 1 0-9.8Z",
  info: "M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13ZM7.2 7h1.6v5H7.2Zm0-3h1.6v1.7H7.2Z",
};

// tones of the states. A shape goes with each, so that none is told by colour alone.
const tones = { online: "good", lagging: "warn", broken: "bad", offline: "bad", unproven: "warn" };
export const toneOf = (state) => tones[state] ?? "warn";

// icon draws the shape of a tone; what it says stands beside it.
export function icon() {
  const path = svg("path", { "fill-rule": "evenodd" });
  const node = svg("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" }, path);
  return { node, set: (tone) => attr(path, "d", shapes[tone] ?? shapes.none) };
}

class Badge {
  #icon = icon();
  #word = el("span", { class: "state" });
  node = el("span", { class: "badge" }, this.#icon.node, this.#word);

  set(tone, word) {
    this.#icon.set(tone);
    attr(this.node, "data-tone", tone);
    text(this.#word, word);
  }
}

// facts is a list of names and values, which are set by name.
function facts(names) {
  const values = new Map(names.map((name) => [name, el("dd")]));
  const node = el("dl", { class: "facts" }, ...names.map((name) => el("div", {}, el("dt", {}, name), values.get(name))));
  return { node, set: (name, value) => text(values.get(name), value) };
}

// Latency is the table of what a server does a second, and how long that takes.
class Latency {
  #cells = [[], []];

  constructor(name) {
    const row = (i, head) => {
      this.#cells[i] = [0, 1, 2, 3].map(() => el("td"));
      return el("tr", {}, el("th", { scope: "row" }, head), ...this.#cells[i]);
    };
    const head = ["kind", "per s", "p50 ms", "p95 ms", "p99 ms"].map((h) => el("th", { scope: "col" }, h));
    this.node = el("table", { class: "latency" }, el("caption", { class: "unseen" }, `How much ${name} does, and how long that takes`),
      el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, row(0, "reads"), row(1, "others")));
  }

  update(s) {
    [[s.reads_per_second, s.read_ms], [s.others_per_second, s.other_ms]].forEach(([perSecond, ms], i) => {
      [rate(perSecond), milliseconds(ms.p50), milliseconds(ms.p95), milliseconds(ms.p99)].forEach((value, j) => text(this.#cells[i][j], value));
    });
  }
}

// weightOf says what share of reads a server gets, and why it is not what the configuration says.
function weightOf(s) {
  const notes = [];
  if (s.slow_start_seconds > 0) notes.push(`slow start, whole in ${Math.ceil(s.slow_start_seconds)} s`);
  if (s.weight_changed) notes.push(`set by an operator, configured ${s.configured_weight}`);
  if (isDrained(s)) notes.push("drained");
  if (s.role === "primary" && s.weight === 0) notes.push("read only if no replica can be");
  return notes.length > 0 ? `${s.weight} (${notes.join("; ")})` : String(s.weight);
}

export const isDrained = (s) => s.role === "replica" && s.weight_changed && s.replica_weight === 0;
export const used = (s) => s.connections - s.idle_connections;

class Server {
  #state = new Badge();
  #where = el("p", { class: "where" });
  #why = el("p", { class: "why" });
  #facts = facts(["Weight", "Connections", "Active", "Queued", "Sessions that need it"]);
  #charts = {
    lag: new Chart("Lag", "Lag", duration, 1),
    missing: new Chart("Missing", "Missing transactions", number, 5),
    reads: new Chart("Reads/s", "Reads a second", rate, 1),
    others: new Chart("Writes, others/s", "Writes and others a second", rate, 1),
  };

  constructor(s) {
    this.name = s.name;
    this.latency = new Latency(s.name);
    const command = (what) => el("code", {}, ctl(what));
    const name = word(s.name);
    this.drain = el("li", {}, command(`drain ${name}`), " takes it out of reads");
    this.weight = el("code");
    this.node = el("li", { class: "server" },
      el("div", { class: "who" },
        el("h3", {}, s.name), this.#state.node, this.#where, this.#why,
        el("details", {}, el("summary", {}, "Commands", el("span", { class: "unseen" }, ` for ${s.name}`)), el("ul", {}, this.drain,
          el("li", {}, this.weight, " gives it another share"), el("li", {}, command(`resume ${name}`), " goes by the configuration again"),
          el("li", {}, command(`sessions --server ${name}`), " who needs it")))),
      el("div", { class: "charts" }, ...Object.values(this.#charts).map((c) => c.node)),
      el("div", { class: "numbers" }, this.latency.node, this.#facts.node));
    this.node.dataset.server = s.name;
    this.node.id = anchor(s.name);
    this.node.tabIndex = -1;
  }

  update({ server: s, samples, end }) {
    const primary = s.role === "primary";
    attr(this.node, "data-role", s.role);
    attr(this.node, "data-state", s.state);
    this.#state.set(toneOf(s.state), s.state);
    const where = [s.role, s.zone ? `zone ${s.zone}` : "", s.address === s.name ? "" : s.address, s.version ?? ""];
    text(this.#where, where.filter(Boolean).join(" · "));
    text(this.#why, s.why ?? "");
    show(this.#why, Boolean(s.why));
    show(this.drain, !primary);
    text(this.weight, ctl(`weight ${primary ? "--as-primary " : ""}${word(s.name)} 50`));
    show(this.#charts.lag.node, !primary);
    show(this.#charts.missing.node, !primary);
    show(this.#charts.others.node, primary);
    if (primary) {
      this.#charts.others.update(s.name, samples, end, (one) => one.others, s.others_per_second);
    } else {
      this.#charts.lag.update(s.name, samples, end, (one) => one.lag, samples.at(-1)?.lag ?? null);
      this.#charts.missing.update(s.name, samples, end, (one) => one.missing, s.missing_transactions);
    }
    this.#charts.reads.update(s.name, samples, end, (one) => one.reads, s.reads_per_second);
    this.latency.update(s);
    this.#facts.set("Weight", weightOf(s));
    this.#facts.set("Connections", `${used(s)} of ${s.max_connections} used, ${s.idle_connections} idle`);
    this.#facts.set("Active", s.max_concurrent_queries > 0 ? `${s.active} of ${s.max_concurrent_queries}` : String(s.active));
    this.#facts.set("Queued", String(s.queued));
    this.#facts.set("Sessions that need it", String(s.busy_sessions));
  }
}

// anchor is the id of a server's place on the page.
export const anchor = (name) => `server-${encodeURIComponent(name)}`;

// serverList returns what shows the servers of a model.
export function serverList(parent) {
  const update = keyed(parent, (one) => one.server.name, (one) => new Server(one.server));
  return (model) => {
    const { servers, time } = model.state;
    const end = Date.parse(time);
    const first = [...servers.filter((s) => s.role === "primary"), ...servers.filter((s) => s.role !== "primary")];
    update(first.map((server) => ({ server, samples: model.samples.get(server.name) ?? [], end })));
  };
}
