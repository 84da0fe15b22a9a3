// Times as people say them: local, relative where they are near, with the exact one behind.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

// English words, with the clock (12 or 24 hours) that this browser's person is used to.
const { hour12 } = new Intl.DateTimeFormat(undefined, { hour: "numeric" }).resolvedOptions();
const format = (options) => new Intl.DateTimeFormat("en", { hour12, ...options });
const CLOCK = format({ hour: "numeric", minute: "2-digit" });
const DATE = format({ day: "numeric", month: "short" });
const YEAR = format({ day: "numeric", month: "short", year: "numeric" });
const EXACT = format({ dateStyle: "full", timeStyle: "long" });

let skew = 0;
let written = null;

/** The daemon's time, in milliseconds. */
export const now = () => Date.now() + skew;

/** Takes the daemon's time over, and the zone in which it writes times: `{name, minutes}`. */
export function setNow(ms, zone) {
  skew = ms - Date.now();
  if (zone) written = zone;
}

/** A time of the API (RFC 3339) or of the board (milliseconds), in milliseconds. */
export const at = (time) => (typeof time === "number" ? time : Date.parse(time));

/** The hour and minute. */
export const clock = (ms) => CLOCK.format(ms);

/** The exact local time. */
export const exact = (ms) => EXACT.format(ms);

/** A length of time that runs down, such as `4:59`. */
export function span(ms) {
  const s = Math.ceil(ms / 1000);
  const two = (n) => String(n).padStart(2, "0");
  if (s >= 86_400) return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
  if (s >= 3600) return `${Math.floor(s / 3600)}:${two(Math.floor((s % 3600) / 60))}:${two(s % 60)}`;
  return `${Math.floor(s / 60)}:${two(s % 60)}`;
}

/** A length of time in words, such as `5 min`. */
export function long(ms) {
  if (ms < MINUTE) return `${Math.max(1, Math.round(ms / 1000))} s`;
  if (ms < HOUR) return `${Math.round(ms / MINUTE)} min`;
  if (ms < 2 * DAY) return `${Math.round(ms / HOUR)} h`;
  return `${Math.round(ms / DAY)} d`;
}

/** How long ago, or in how long, such as `3 min ago`; days back as a date. */
export function relative(ms) {
  const by = now() - ms;
  if (Math.abs(by) < 10_000) return "just now";
  const day = new Date(ms).toDateString() === new Date(now()).toDateString();
  if (Math.abs(by) < 6 * HOUR || (day && by < 0)) return by > 0 ? `${long(by)} ago` : `in ${long(-by)}`;
  if (day) return clock(ms);
  const year = new Date(ms).getFullYear() === new Date(now()).getFullYear();
  return `${(year ? DATE : YEAR).format(ms)}, ${clock(ms)}`;
}

/** A time on the page: relative, the exact one as its title, and kept fresh by `freshen`. */
export function when(time) {
  const ms = at(time);
  const node = document.createElement("time");
  if (Number.isNaN(ms)) return node;
  node.dateTime = new Date(ms).toISOString();
  node.title = exact(ms);
  node.dataset.ms = String(ms);
  node.textContent = relative(ms);
  return node;
}

/** Brings the relative times of the page up to date. */
export function freshen() {
  for (const node of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("time[data-ms]"))) {
    const text = relative(Number(node.dataset.ms));
    if (node.textContent !== text) node.textContent = text;
  }
}

/** A sentence of the daemon, whose times (`12:03 CET`) are in its machine's zone, with them in ours. */
export function localised(sentence) {
  if (!written) return sentence;
  const name = written.name.replace(/\W/g, "\\$&");
  const ahead = -new Date().getTimezoneOffset() - written.minutes;
  return sentence.replace(new RegExp(`\\b(\\d\\d):(\\d\\d) ${name}(?!\\w)`, "g"),
    (_, hours, minutes) => clock(new Date(2000, 0, 2, Number(hours), Number(minutes) + ahead)));
}
