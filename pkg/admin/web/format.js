// How values are written. What is not known is never a number.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

// number writes with three digits that count.
export function number(v) {
  if (v >= 100 || Number.isInteger(v)) return whole.format(v);
  return v.toFixed(v >= 10 ? 1 : 2);
}

// rate is a number a second.
export function rate(v) {
  if (v === 0) return "0";
  return v < 0.1 ? "<0.1" : v < 100 ? v.toFixed(1) : whole.format(v);
}

// duration writes seconds as people say them.
export function duration(v) {
  if (Number.isInteger(v) && v < 60) return `${v} s`; // what is counted in seconds
  if (v < 10) return `${v.toFixed(v < 1 ? 3 : 2)} s`;
  if (v < 60) return `${v.toFixed(1)} s`;
  return age(v);
}

// age writes seconds without a fraction.
export function age(v) {
  const s = Math.floor(Math.max(0, v));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

export const milliseconds = (v) => (v === null ? "-" : v < 10 ? v.toFixed(2) : v < 100 ? v.toFixed(1) : whole.format(v));

export const percent = (part, all) => (all === 0 ? "-" : `${((100 * part) / all).toFixed(part === all || part === 0 ? 0 : 1)} %`);

const two = (n) => String(n).padStart(2, "0");

// clock is the time of day here.
export function clock(when) {
  return `${two(when.getHours())}:${two(when.getMinutes())}:${two(when.getSeconds())}`;
}

// plural is "1 read" or "2 reads".
export const plural = (n, what) => `${whole.format(n)} ${what}${n === 1 ? "" : "s"}`;

// elsewhere is the option that has ctl talk to this proxy and not to the one at its usual address.
const address = new URL(".", location.href).href.replace(/\/$/, "");
const elsewhere = ["http://127.0.0.1:6460", "http://localhost:6460"].includes(address) ? "" : ` --admin ${address}`;

// ctl is a command for what the page does not do.
export const ctl = (what) => `mysqlrw ctl ${what}${elsewhere}`;

// word makes a name one word of a shell.
export const word = (name) => (/^[\w.:@%+=,/-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`);
