// What an operator must know first: is there a primary, which server is bad, do reads fall back, and why.

import { attr, el, keyed, text } from "./dom.js";
import { duration, number, plural, rate } from "./format.js";
import { anchor, icon, isDrained, toneOf, used } from "./servers.js";

const order = { bad: 0, warn: 1, info: 2, good: 3 };

// findings returns them, the worst first: {key, tone, name, says}; name is that of a server, or "".
export function findings(model) {
  const { status, servers, fall_backs: falls } = model.state;
  const all = [];
  const find = (key, tone, says, name = "") => all.push({ key, tone, says, name });
  const replicas = servers.filter((s) => s.role === "replica");
  const online = replicas.filter((s) => s.state === "online");
  if (!status.ready) find("ready", "bad", `Not ready: ${status.why}`);
  else if (!status.primary) find("ready", "bad", "No primary is known: writes wait for one");
  for (const s of servers) {
    if (s.state !== "online") find(`state ${s.name}`, toneOf(s.state), ` is ${s.state}${reason(s)}`, s.name);
    if (isDrained(s)) find(`drained ${s.name}`, "info", ` is drained: ${s.busy_sessions === 0 ? "nothing needs it any more" : `still needed by ${plural(s.busy_sessions, "session")}`}`, s.name);
    else if (s.slow_start_seconds > 0) find(`slow ${s.name}`, "info", ` is back and gets its share of reads little by little`, s.name);
    if (s.queued > 0) find(`queued ${s.name}`, "warn", `: ${plural(s.queued, "statement")} wait${s.queued === 1 ? "s" : ""} for max-concurrent-queries`, s.name);
    if (s.max_connections > 0 && used(s) >= s.max_connections) find(`full ${s.name}`, "warn", `: all ${s.max_connections} connections are in use`, s.name);
  }
  for (const f of falls) {
    const perSecond = model.perSecond(f.reason);
    if (perSecond > 0) find(`fall ${f.reason}`, "warn", `${rate(perSecond)} reads a second fall back to the primary: ${f.explanation} (${f.reason})`);
  }
  all.sort((a, b) => order[a.tone] - order[b.tone]);
  if (!all.some((one) => order[one.tone] < order.info)) {
    const [total, replica] = model.state.reads.reduce(([t, r], { level }) => {
      const n = model.reads(level);
      return [t + n.replica + n.primary, r + n.replica];
    }, [0, 0]);
    const share = total === 0 ? "no reads in the last ten seconds" : `${Math.round((100 * replica) / total)} % of reads on replicas`;
    find("good", "good", `All is well: ${status.primary} is the primary, ${online.length} of ${plural(replicas.length, "replica")} online, ${share}`);
  }
  return all;
}

function reason(s) {
  if (s.state !== "lagging") return s.why ? `: ${s.why}` : "";
  const behind = s.lag_seconds === null ? `how far is unknown${s.why ? `, ${s.why}` : ""}` : `${duration(s.lag_seconds)} behind`;
  const missing = s.missing_transactions > 0 ? `, ${number(s.missing_transactions)} transactions missing` : "";
  return `: ${behind}${missing}`;
}

// nowList returns what shows findings.
export function nowList(parent) {
  return keyed(parent, (one) => one.key, (one) => {
    const mark = icon();
    const says = el("span");
    const link = one.name === "" ? [] : [el("a", { href: `#${anchor(one.name)}` }, one.name)];
    return {
      node: el("li", {}, mark.node, el("span", {}, ...link, says)),
      update({ tone, says: now }) {
        mark.set(tone);
        attr(this.node, "data-tone", tone);
        text(says, now);
      },
    };
  });
}

// title is the name of the page's tab.
export function title(found, lost) {
  if (lost) return "? mysqlrw: no connection";
  const worst = found[0];
  if (worst.tone === "good" || worst.tone === "info") return "mysqlrw";
  return `${worst.tone === "bad" ? "!!" : "!"} ${worst.name}${worst.says}`.slice(0, 80);
}
