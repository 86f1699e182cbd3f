// A line over the last five minutes. What is unknown is a gap, and where the server was not online the ground is marked.

import { attr, el, svg, text } from "./dom.js";
import { age } from "./format.js";

const width = 300; // a unit a second
const height = 40;

// Chart is one value of one server: label is its name, whole that for who does not see the line, write(v) how a value is written, floor the least that the whole
// height stands for.
export class Chart {
  #line = svg("path", { class: "line" });
  #ground = svg("path", { class: "ground" });
  #drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img" });
  #now = el("span", { class: "value" });
  #most = el("span", { class: "most" });

  constructor(label, whole, write, floor) {
    this.whole = whole;
    this.write = write;
    this.floor = floor;
    this.#drawing.append(this.#ground, this.#line);
    this.node = el("div", { class: "chart" },
      el("p", {}, el("span", { class: "label" }, label), " ", this.#now, " ", this.#most), this.#drawing);
  }

  // update draws samples up to the time end; of(sample) is the value or null.
  update(server, samples, end, of, now) {
    const x = (t) => (width + (t - end) / 1000).toFixed(1);
    let most = null;
    for (const s of samples) {
      const v = of(s);
      if (v !== null && (most === null || v > most)) most = v;
    }
    const scale = (height - 3) / Math.max(this.floor, most ?? 0);
    let line = "";
    let ground = "";
    let pen = false;
    let unknown = 0;
    samples.forEach((s, i) => {
      const v = of(s);
      const next = samples[i + 1]?.t ?? end;
      if (v === null) {
        pen = false;
        unknown += (next - s.t) / 1000;
      } else {
        line += `${pen ? "L" : "M"}${x(s.t)} ${(height - 1.5 - v * scale).toFixed(1)}`;
        pen = next - s.t < 3000; // the page was not told for longer
      }
      if (s.state !== "online") ground += `M${x(s.t)} 0H${x(Math.min(next, s.t + 3000))}V${height}H${x(s.t)}Z`;
    });
    attr(this.#line, "d", line);
    attr(this.#ground, "d", ground);
    const written = now === null ? "unknown" : this.write(now);
    text(this.#now, written);
    text(this.#most, most === null ? "" : `most ${this.write(most)}`);
    let told = `${this.whole} of ${server} in the last five minutes: now ${written}`;
    if (most !== null) told += `, at most ${this.write(most)}`;
    if (unknown >= 1) told += `, unknown for ${age(unknown)}`;
    attr(this.#drawing, "aria-label", told);
  }
}
