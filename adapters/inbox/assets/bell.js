// Desktop notifications, only after the person has asked for them.

const PLACE = "countersign-bell";
const bell = document.getElementById("bell");
let rings = false;
let count = null;

/** Shows the bell where the browser can notify at all; `say` tells what a click did. */
export function hangBell(say) {
  if (!("Notification" in window) || !window.isSecureContext) return;
  bell.hidden = false;
  set(Notification.permission === "granted" && remembered() === "on");
  bell.addEventListener("click", async () => {
    if (rings) {
      set(false);
      say("No more desktop notifications from this page.");
    } else if ((await Notification.requestPermission()) === "granted") {
      set(true);
      say("This desktop is notified when something waits for you.");
    } else {
      say("The browser blocks notifications for this page; allow them in its site settings.");
    }
  });
}

/** Tells of a new card when the person looks elsewhere: its first line, and who asks from where. */
export function ring(card) {
  if (!rings || document.hasFocus()) return;
  const note = new Notification(`${card.tone === "critical" ? "🛑 CRITICAL " : ""}${card.title}`, { body: card.origin, tag: card.id });
  note.addEventListener("click", () => {
    window.focus();
    note.close();
  });
}

/** Shows on the app's icon how many requests wait, where the system has badges. */
export function showCount(open) {
  if (open === count || !navigator.setAppBadge) return;
  count = open;
  (open > 0 ? navigator.setAppBadge(open) : navigator.clearAppBadge()).catch(() => {});
}

function set(on) {
  rings = on;
  bell.setAttribute("aria-pressed", on);
  bell.title = on ? "Desktop notifications are on" : "Notify me on this desktop";
  try {
    localStorage.setItem(PLACE, on ? "on" : "off");
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

function remembered() {
  try {
    return localStorage.getItem(PLACE);
  } catch {
    return null;
  }
}
