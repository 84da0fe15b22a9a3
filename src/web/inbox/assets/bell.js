// How a person hears of a new request: a notification, a push while no page is open, a sound, the app's badge.

import { $ } from "./dom.js";
import { counted } from "./parts.js";
import { canPush, isPushed, keepPush, pushOff, pushOn } from "./push.js";
import { allowSound, playSound } from "./sound.js";

const BLOCKED = "The browser blocks notifications for this page; allow them in its site settings.";
// What comes within this time of the first is one burst, as in the chats.
const BURST = 10_000;
const on = { notify: remembered("notify"), push: false, sound: remembered("sound") };
let count = null;
let burst = { until: -Infinity, cards: [] };

/** Shows the bell; `say` tells what a switch did. */
export function hangBell(say) {
  const notifies = "Notification" in window && window.isSecureContext;
  on.notify &&= notifies && Notification.permission === "granted";
  $("bell").hidden = false;
  $("bell").addEventListener("click", () => $("bells").showModal());
  $("ring-notify").disabled = !notifies;
  $("ring-push").disabled = !canPush;
  hang("notify", say, async (wanted) => (wanted ? await permission() : ""));
  hang("push", say, async (wanted) => (wanted ? (await permission()) || (await pushOn()) : await pushOff()) ?? "");
  hang("sound", say, async (wanted) => {
    if (wanted) allowSound();
    return "";
  });
  if (on.sound) document.addEventListener("pointerdown", allowSound, { once: true });
  paint();
}

/** Once the daemon has proved itself; `open` shows the request of a notification that was pressed. */
export async function wakeBell(open) {
  await keepPush(open);
  on.push = await isPushed();
  paint();
}

/** Tells of a new card: its first line, and who asks from where. What comes with others is told with them, once. */
export function ring(card) {
  const critical = card.tone === "critical";
  const told = critical ? [card] : together(card);
  if (on.sound && told.length === 1) playSound(card.tone);
  // A push tells of it already.
  if (!on.notify || on.push || document.hasFocus()) return;
  const title = told.length === 1 ? `${critical ? "🛑 CRITICAL " : ""}${card.title}` : counted(told.length, "new request");
  const body = [...new Set(told.map(({ worst, origin }) => [worst, origin].filter(Boolean).join("\n")))].join("\n");
  // The same tag takes the place of the one before, without another ring.
  const note = new Notification(title, { body, tag: told[0].id });
  note.addEventListener("click", () => {
    window.focus();
    note.close();
  });
}

/** The cards of the burst that this one belongs to. */
function together(card) {
  if (performance.now() > burst.until) burst = { until: performance.now() + BURST, cards: [] };
  burst.cards.push(card);
  return burst.cards;
}

/** Shows on the app's icon how many requests wait, where the system has badges. */
export function showCount(open) {
  if (open === count || !navigator.setAppBadge) return;
  count = open;
  (open > 0 ? navigator.setAppBadge(open) : navigator.clearAppBadge()).catch(() => {});
}

/** A switch; `turn` returns a sentence if it cannot be turned. */
function hang(name, say, turn) {
  const box = $(`ring-${name}`);
  box.addEventListener("change", async () => {
    box.disabled = true;
    const problem = await turn(box.checked);
    box.disabled = false;
    if (!problem) {
      on[name] = box.checked;
      remember(name, on[name]);
    }
    $("bells-said").textContent = problem;
    $("bells-said").hidden = !problem;
    say(problem || `${box.labels[0].textContent.trim()}: ${on[name] ? "on" : "off"}.`);
    paint();
  });
}

async function permission() {
  return (await Notification.requestPermission()) === "granted" ? "" : BLOCKED;
}

function paint() {
  for (const name of Object.keys(on)) $(`ring-${name}`).checked = on[name];
  const rings = Object.values(on).some(Boolean);
  $("bell").setAttribute("aria-pressed", rings);
  $("bell").title = rings ? "Notifications are on" : "Notifications";
}

function remember(name, value) {
  try {
    localStorage.setItem(`countersign-${name}`, value ? "on" : "off");
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

function remembered(name) {
  try {
    return localStorage.getItem(`countersign-${name}`) === "on";
  } catch {
    return false;
  }
}
