// The inbox: keeps the page like the board, and wires its parts.

import { entries, isOld, miss, receive, waiting } from "./asks.js";
import { hangBell, ring, showCount, wakeBell } from "./bell.js";
import { fit } from "./blocks.js";
import { choose, current, currentNode, hangDetail, paintDetail, tick } from "./detail.js";
import { $, desk, put, say } from "./dom.js";
import { hangFilter, isWide, paintChips, widen } from "./filter.js";
import { hangKeys } from "./keys.js";
import { follow } from "./line.js";
import { arrangeList, hangList, order, paintRows, release, rowOf, twinsOf } from "./list.js";
import { paintPages, refreshPages } from "./pages.js";
import { followPause, hangPause } from "./pause.js";
import { hangPerson, showPerson } from "./person.js";
import { back, go, onRoute, route } from "./route.js";
import { clearSelection, hangSeveral, hasSelection, selecting, toggle } from "./several.js";
import { moving, settle, unsettle } from "./settle.js";
import { look } from "./sight.js";
import { freshen, localised, setNow } from "./time.js";
import { verdictOf } from "./verdict.js";

let connected = false;
// The board comes in parts: what has come of it, and whether the page was empty before.
let board = null;
const came = [];
const FLOOD = 16;

hangBell(say);
hangPause(say);
hangPerson();
hangFilter(() => release(change));
hangSeveral(() => change());
const page = { connected: () => connected, change, open: (id) => open(id) };
hangList(page);
hangDetail(page);
hangKeys({
  current, currentNode, order, open, rowOf, toggle: (id) => toggle(...twinsOf(id)), selecting,
  clear: clearSelection, release: () => release(change),
});
onRoute(comeBack);
desk.addEventListener("change", () => change());
$("back").addEventListener("click", () => (hasSelection() ? clearSelection() : back("")));
$("review").addEventListener("click", () => go("selected"));
$("widen").addEventListener("click", () => change(widen));
setInterval(() => { tick(); freshen(); }, 500);
window.addEventListener("resize", unsettleAll);
document.addEventListener("visibilitychange", unsettleAll);

follow({
  board({ now, zone, cards, more, notice }) {
    setNow(now, zone);
    board ??= { first: entries.size === 0, known: new Set() };
    const { first, known } = board;
    for (const boardCard of cards) known.add(boardCard.card.id);
    change(() => {
      setLine("live", "live");
      showNotice(notice);
      for (const boardCard of cards) take(boardCard, first);
      if (!more) for (const entry of entries.values()) if (!known.has(entry.card.id)) miss(entry, change);
    });
    if (more) return;
    board = null;
    refreshPages();
    if (!first) return;
    showPerson();
    $("teach").open = entries.size === 0;
    wakeBell((id) => open(id));
  },
  card({ now, card }) {
    setNow(now);
    // Of a flood the page draws what came together, once.
    if (came.push(card) === 1) setTimeout(() => change(() => came.splice(0).forEach((each) => take(each, false))), FLOOD);
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

/** Takes a card in, new or changed, and tells of it. */
function take(boardCard, replayed) {
  const { entry: { card }, what } = receive(boardCard, change);
  if (what === "new" && !replayed) {
    ring(card);
    say(`New: ${card.title}.`);
  }
  if (what !== "closed") return;
  say(`${card.title}: ${localised(verdictOf(card).words)}`);
}

/** Shows a request, and takes the focus there; `byKey`: no finger can be over its buttons. */
function open(id, byKey = false) {
  if (!id) return;
  const other = id !== current();
  go(`ask/${id}`, desk.matches || route().view === "ask");
  change();
  if (byKey && other && isOld(entries.get(id))) settle(currentNode());
  currentNode()?.focus({ preventScroll: true });
  rowOf(id)?.scrollIntoView({ block: "nearest" });
}

/** Draws where the browser's back or a link has led; on a phone the focus returns to the row. */
function comeBack() {
  const was = current();
  change();
  if (was && current() === null) rowOf(was)?.querySelector("a").focus({ preventScroll: true });
}

/** Changes the page, guards what moved, and keeps everything in step. */
function change(what = () => {}) {
  moving(() => {
    what();
    paintPages();
    // The list first: what is shown where nobody has chosen is its first row.
    arrangeList();
    const { view, id } = route();
    const shown = choose(id);
    paintDetail(shown);
    paintRows(shown);
    document.body.dataset.view = (view === "ask" && shown) || (view === "selected" && hasSelection()) ? "one" : "list";
    paintCounts();
    // Only now everything has its size.
    fit($("detail"));
    look();
    tick();
  });
}

function paintCounts() {
  const open = waiting().length;
  paintChips();
  showCount(open);
  document.title = open > 0 ? `(${open}) countersign` : "countersign";
  put($("count"), String(open));
  $("count").hidden = open === 0;
  $("select").hidden = open < 2 && !selecting();
  $("review").hidden = !hasSelection();
  $("empty").hidden = open > 0 || !connected || Boolean(current()) || !isWide();
  $("calm").hidden = open > 0 || !connected || !current();
  $("none").hidden = isWide() || order().length > 0;
}

function setLine(state, words, sentence = "") {
  connected = state === "live";
  document.body.dataset.line = state;
  $("line").dataset.state = state;
  $("line").textContent = words;
  $("banner").textContent = sentence;
  $("banner").hidden = sentence === "";
}

/** What is wrong elsewhere, such as a chat where presses are not received. */
function showNotice(sentences) {
  $("notice").textContent = localised(sentences.join("\n"));
  $("notice").hidden = sentences.length === 0;
  followPause(sentences);
}

function unsettleAll() {
  for (const card of document.querySelectorAll("[data-settle]")) unsettle(card);
}
