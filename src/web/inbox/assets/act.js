// Presses a button of a card, if that can be meant, and says what came of it.

import { say } from "./dom.js";
import { askForWords } from "./keep.js";
import { press } from "./line.js";
import { settled } from "./settle.js";
import { endWasSeen } from "./sight.js";

/** `page`: `{connected(), nodeOf(entry), change(what), whole}`; `whole`: all of it is in sight. */
export async function act(page, entry, button, text) {
  if (entry.busy) return;
  if (!page.connected() || entry.missing) {
    return tell(page, entry, "fault", "Not connected to countersign, so nothing was pressed.");
  }
  if (!settled(page.nodeOf(entry))) {
    return tell(page, entry, "fault", "The card had only just come or moved, so nothing was pressed. Press again.");
  }
  if (["approve", "always", "confirm", "submit"].includes(button.style) && !page.whole && !endWasSeen(page.nodeOf(entry))) {
    return tell(page, entry, "fault", "The end of the request was not in sight, so nothing was pressed. Read it, then press again.");
  }
  entry.busy = true;
  tell(page, entry, "sending", "Sending…");
  const { outcome, sentence, draft } = await press(entry.card.id, button.token, text);
  entry.busy = false;
  tell(page, entry, outcome, sentence);
  const node = page.nodeOf(entry);
  if (outcome === "text_wanted" && node) page.change(() => askForWords(node, button, sentence, draft));
}

function tell(page, entry, outcome, sentence) {
  entry.receipt = { outcome, sentence };
  page.change(() => {});
  if (outcome !== "sending") say(sentence);
}
