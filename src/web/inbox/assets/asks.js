// The requests that the page knows: what waits, what has closed lately, and in which order.

// A closed request stays where it was for a while, so that the eye finds what came of it.
const LINGER = 5_000;
// After a restart open requests come back one by one; one that stays away this long is gone.
const COMEBACK = 6_000;
const KEPT = 50;

/** By card id: `{card, since, closed, folded, group, lingers, missing, busy, receipt}`. */
export const entries = new Map();

/** Whether a card's ask still waits for a person. */
export const isOpen = ({ tone }) => tone === "open" || tone === "critical";

/** Whether a person chooses or writes the answer. */
export const isQuestion = ({ buttons }) => buttons.flat().some(({ style }) => ["choice", "chosen"].includes(style));

/** The agent, and the project and machine, of the second line. */
export const agentOf = ({ origin }) => origin.split(" · ")[0];
export const projectOf = ({ origin }) => origin.split(" · ").slice(1).join(" · ");

/** Whether a request has been here for long enough that nobody comes to it by accident. */
export const isOld = ({ came }) => performance.now() - came > 700;

/** What waits, most urgent first. */
export const waiting = () => [...entries.values()].filter(({ card }) => isOpen(card)).sort(urgency);

/** What has closed, latest first. */
export const closed = () => [...entries.values()].filter(({ card, lingers }) => !isOpen(card) && !lingers)
  .sort((one, other) => other.closed - one.closed);

/** Critical first, then by deadline, then as they came. */
export function urgency(one, other) {
  const critical = ({ group }) => (group === "critical" ? 0 : 1);
  const deadline = ({ until }) => until ?? Infinity;
  return critical(one) - critical(other) || (deadline(one) - deadline(other) || one.since - other.since || 0);
}

/**
 * Takes a card in. Returns what happened to its entry: `same`, `new`, `changed`, `closed` (just now) or
 * `old` (it had closed before). `later(change)` runs a change of the page.
 */
export function receive({ card, since, closed, folded }, later) {
  const entry = entries.get(card.id) ?? { card: null, busy: false, receipt: null, lingers: false, came: performance.now() };
  const before = entry.card;
  // A large card comes as revision 0 first, and its text after it: what is here already is kept.
  const stub = card.revision === 0 && before?.tone === card.tone;
  // A view of a card has the card's own revision.
  const same = stub || (before !== null && JSON.stringify(before) === JSON.stringify(card));
  if (same && !entry.missing) return { entry, what: "same" };
  if (stub) ({ card, folded } = entry);
  Object.assign(entry, { card, since: before ? entry.since : since, closed, folded, missing: false });
  clearTimeout(entry.timer);
  entries.set(card.id, entry);
  if (same) return { entry, what: "same" };
  if (isOpen(card)) {
    entry.group = card.tone === "critical" ? "critical" : card.origin;
    entry.until = card.deadline;
    return { entry, what: before ? "changed" : "new" };
  }
  if (before && isOpen(before)) linger(entry, later);
  forget();
  return { entry, what: entry.lingers ? "closed" : "old" };
}

/** A request that countersign does not show any more: closed ones stay, open ones may come back. */
export function miss(entry, later) {
  if (!isOpen(entry.card) || entry.missing) return;
  entry.missing = true;
  entry.timer = setTimeout(() => later(() => {
    const text = "countersign no longer holds this card; its log says what came of the ask";
    const blocks = [...entry.card.blocks, { kind: "outcome", text }];
    const card = { ...entry.card, tone: "cancelled", blocks, buttons: [], more: [] };
    Object.assign(entry, { closed: Date.now(), card, missing: false });
  }), COMEBACK);
}

function linger(entry, later) {
  entry.lingers = true;
  entry.timer = setTimeout(() => later(() => { entry.lingers = false; }), LINGER);
}

function forget() {
  for (const { card } of closed().slice(KEPT)) entries.delete(card.id);
}
