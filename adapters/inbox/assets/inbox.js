// The inbox: keeps the page like the board, and turns clicks and keys into presses.

import { hangBell, ring } from "./bell.js";
import { drawCard, drawClosed, fit, isOpen } from "./card.js";
import { askForWords, hold, restore, shape } from "./keep.js";
import { follow, press } from "./line.js";
import { followPause, hangPause } from "./pause.js";
import { moving, settled, unsettle } from "./settle.js";

const KEPT = 50;
// A closed card stays where it was for a while, so that the eye finds what came of it.
const LINGER = 5_000;
// After a restart open cards come back one by one; one that stays away this long is gone.
const COMEBACK = 6_000;

const $ = (id) => document.getElementById(id);
const entries = new Map();
let skew = 0;
let connected = false;
let last = null;
// The board comes in parts: what has come of it, and whether the page was empty before.
let board = null;

follow({
  board({ now, cards, more, notice }) {
    skew = now - Date.now();
    board ??= { first: entries.size === 0, known: new Set() };
    const { first, known } = board;
    for (const standing of cards) known.add(standing.card.id);
    change(() => {
      setLine("live", "live");
      showNotice(notice);
      for (const standing of cards) receive(standing, first);
      if (!more) for (const entry of entries.values()) if (!known.has(entry.card.id)) miss(entry);
    });
    if (more) return;
    board = null;
    if (first) $("teach").open = $("past").hidden;
  },
  card({ now, card }) {
    skew = now - Date.now();
    change(() => receive(card, false));
  },
  notice({ notice }) {
    change(() => showNotice(notice));
  },
  lost() {
    board = null;
    if ($("line").textContent === "not connected") return;
    change(() => setLine("lost", "not connected",
      "Not connected to countersign. Nothing can be pressed here until it is back; this page keeps trying."));
  },
  refused(sentence) {
    if ($("banner").textContent === sentence) return;
    change(() => setLine("lost", "no access", sentence));
  },
  locked(sentence) {
    change(() => setLine("lost", "no access", sentence));
  },
});

hangBell(say);
hangPause(say);
setInterval(tick, 500);
window.addEventListener("resize", unsettleAll);
document.addEventListener("visibilitychange", unsettleAll);
document.addEventListener("keydown", shortcut);

/** Takes a card in, new or changed. */
function receive({ card, since, closed, folded }, replayed) {
  const entry = entries.get(card.id) ?? { card: null, node: null, busy: false, receipt: null };
  const before = entry.card;
  // A large card comes as revision 0 first, and its text after it: what stands here already is kept.
  const stub = card.revision === 0 && before?.tone === card.tone;
  // A view of a card has the card's own revision.
  const same = stub || (before !== null && JSON.stringify(before) === JSON.stringify(card));
  if (same && !entry.missing) return;
  if (stub) ({ card, folded } = entry);
  Object.assign(entry, { card, since: before ? entry.since : since, closed, folded, missing: false });
  clearTimeout(entry.timer);
  entries.set(card.id, entry);
  if (same) return setBusy(entry);
  if (isOpen(card)) {
    stand(entry, before);
    if (!before && !replayed) {
      ring(card);
      say(`New: ${card.title}.`);
    }
  } else if (before && isOpen(before)) {
    stand(entry, before);
    const outcome = card.blocks.findLast((block) => block.kind === "outcome");
    if (outcome) say(`${card.title}: ${outcome.text}`);
    entry.timer = setTimeout(() => change(() => fileAway(entry)), LINGER);
  } else {
    fileAway(entry);
  }
}

/** Puts a card among the open ones, oldest first, or redraws it where it stands. */
function stand(entry, before) {
  const old = entry.node;
  const node = drawCard(entry, (button, text) => act(entry, button, text));
  entry.node = node;
  if (old?.classList.contains("card")) {
    const kept = hold(old);
    old.replaceWith(node);
    fit(node);
    restore(node, kept);
    // The same buttons with another tick are no new card; anything else has to settle.
    if (shape(before) !== shape(entry.card)) unsettle(node);
  } else {
    old?.remove();
    const after = [...$("open").children].find((other) => entries.get(other.dataset.id)?.since > entry.since);
    $("open").insertBefore(node, after ?? null);
    fit(node);
  }
  if (entry.receipt) showReceipt(entry);
  setBusy(entry);
}

/** Moves a card to the closed ones, latest first. */
function fileAway(entry) {
  if (entry.node?.contains(document.activeElement)) {
    last = [...$("open").children].indexOf(entry.node) - 1;
    $("waiting").focus({ preventScroll: true });
  }
  entry.node?.remove();
  entry.receipt = null;
  entry.node = drawClosed(entry, (button, text) => act(entry, button, text));
  const after = [...$("closed").children].find((other) => entries.get(other.dataset.id).closed <= entry.closed);
  $("closed").insertBefore(entry.node, after ?? null);
  while ($("closed").children.length > KEPT) {
    entries.delete($("closed").lastElementChild.dataset.id);
    $("closed").lastElementChild.remove();
  }
}

/** A card that countersign does not show any more: closed ones stay, open ones may come back. */
function miss(entry) {
  if (!isOpen(entry.card) || entry.missing) return;
  entry.missing = true;
  setBusy(entry);
  entry.timer = setTimeout(() => change(() => {
    const text = "countersign no longer holds this card; its log says what came of the ask";
    const blocks = [...entry.card.blocks, { kind: "outcome", text }];
    Object.assign(entry, { closed: Date.now() + skew, card: { ...entry.card, tone: "cancelled", blocks } });
    fileAway(entry);
  }), COMEBACK);
}

/** Presses a button of a card, if that can be meant. */
async function act(entry, button, text) {
  if (entry.busy) return;
  if (!connected || entry.missing) {
    return tell(entry, "fault", "Not connected to countersign, so nothing was pressed.");
  }
  if (!settled(entry.node)) {
    return tell(entry, "fault", "The card had only just come or moved, so nothing was pressed. Press again.");
  }
  entry.busy = true;
  tell(entry, "sending", "Sending…");
  setBusy(entry);
  const { outcome, sentence } = await press(entry.card.id, button.token, text);
  entry.busy = false;
  setBusy(entry);
  tell(entry, outcome, sentence);
  if (outcome === "text_wanted") change(() => askForWords(entry.node, button, sentence));
}

function tell(entry, outcome, sentence) {
  entry.receipt = { outcome, sentence };
  change(() => showReceipt(entry));
  if (outcome !== "sending") say(sentence);
}

function showReceipt({ node, receipt }) {
  const line = node.querySelector(".receipt");
  if (!line) return;
  line.hidden = false;
  line.dataset.outcome = receipt.outcome;
  line.textContent = receipt.sentence;
}

function setBusy({ node, busy, missing }) {
  const still = busy || missing || !connected;
  node.classList.toggle("still", Boolean(still));
  node.setAttribute("aria-busy", Boolean(busy));
  for (const button of node.querySelectorAll(".buttons button")) button.setAttribute("aria-disabled", Boolean(still));
}

/** Keys on the focused card. */
function shortcut(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing) return;
  if (event.target.closest("textarea, input, select")) {
    if (event.key === "Escape") event.target.closest(".card")?.focus();
    return;
  }
  const pressed = event.key.toLowerCase();
  if (pressed === "j" || pressed === "k") {
    event.preventDefault();
    return step(pressed === "j" ? 1 : -1);
  }
  const card = event.target.closest(".card");
  const target = card && [...card.querySelectorAll("[aria-keyshortcuts]")]
    .find((node) => node.getAttribute("aria-keyshortcuts") === pressed);
  if (!target) return;
  event.preventDefault();
  if (target instanceof HTMLTextAreaElement) target.focus();
  else target.click();
}

function step(by) {
  const cards = [...$("open").children];
  const at = cards.findIndex((card) => card.contains(document.activeElement));
  const from = at >= 0 ? at : (last ?? -1);
  last = null;
  cards[Math.min(Math.max(from + by, 0), cards.length - 1)]?.focus();
}

/** Changes the page, guards what moved, and keeps the counts right. */
function change(what) {
  moving(() => $("open").children, () => {
    what();
    const open = [...entries.values()].filter((entry) => isOpen(entry.card)).length;
    document.title = open > 0 ? `(${open}) countersign` : "countersign";
    $("count").textContent = open;
    $("count").hidden = open === 0;
    $("keys").hidden = open < 2;
    $("empty").hidden = $("open").children.length > 0 || !connected;
    $("past").hidden = $("closed").children.length === 0;
    tick();
  });
}

function setLine(state, words, sentence = "") {
  connected = state === "live";
  $("line").dataset.state = state;
  $("line").textContent = words;
  $("banner").textContent = sentence;
  $("banner").hidden = sentence === "";
  for (const entry of entries.values()) setBusy(entry);
}

/** What is wrong elsewhere, such as a chat where presses are not received. */
function showNotice(sentences) {
  $("notice").textContent = sentences.join("\n");
  $("notice").hidden = sentences.length === 0;
  followPause(sentences);
}

/** Draws the time that is left. */
function tick() {
  const now = Date.now() + skew;
  for (const { card, since, node } of entries.values()) {
    const left = node.querySelector(".left");
    if (!left) continue;
    const ms = card.deadline - now;
    left.textContent = ms > 0 ? ` · ${span(ms)} left` : " · time is up";
    left.classList.toggle("soon", ms < 60_000);
    const sand = node.querySelector(".sand > div");
    const part = Math.max(0, Math.min(1, ms / Math.max(1, card.deadline - since)));
    if (sand) sand.style.transform = `scaleX(${part})`;
  }
}

function span(ms) {
  const s = Math.ceil(ms / 1000);
  const two = (n) => String(n).padStart(2, "0");
  if (s >= 86_400) return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
  if (s >= 3600) return `${Math.floor(s / 3600)}:${two(Math.floor((s % 3600) / 60))}:${two(s % 60)}`;
  return `${Math.floor(s / 60)}:${two(s % 60)}`;
}

function unsettleAll() {
  for (const card of $("open").children) unsettle(card);
}

/** Says a sentence to people who listen to the page. */
function say(sentence) {
  $("live").textContent = sentence;
}
