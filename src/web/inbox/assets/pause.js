// The kill switch: one button that pauses everything, or resumes.

import { $ } from "./dom.js";
import { command } from "./line.js";

const button = $("pause");
let paused = false;

/** Makes the button work; `say` tells what a click did. */
export function hangPause(say) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    button.disabled = true;
    const { sentence } = await command(paused ? "resume" : "pause");
    button.disabled = false;
    say(sentence);
  });
}

/** Follows the notices: the first one says so while everything is paused. */
export function followPause(sentences) {
  paused = sentences[0]?.startsWith("Paused by ") ?? false;
  button.textContent = paused ? "Resume" : "Pause";
  button.setAttribute("aria-pressed", paused);
}
