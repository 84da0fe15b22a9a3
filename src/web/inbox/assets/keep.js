// What a person has under their hands in a card outlives its redrawing: focus, words, scrolling.

/** Takes note of it before a card is redrawn. */
export function hold(node) {
  const active = /** @type {HTMLElement | null} */ (node.contains(document.activeElement) ? document.activeElement : null);
  const forms = [...node.querySelectorAll("form")].map((form) => {
    const [prompt, field] = [form.querySelector(".prompt"), form.querySelector("textarea")];
    return { token: form.dataset.token, shown: !form.hidden, prompt: prompt.textContent, words: field.value };
  });
  return {
    forms,
    focused: active !== null,
    slot: active?.dataset.slot,
    caret: active instanceof HTMLTextAreaElement ? [active.selectionStart, active.selectionEnd] : null,
    opened: [...node.querySelectorAll("details")].map((details) => details.open),
    scrolls: [...node.querySelectorAll("pre")].map((pre) => [pre.scrollTop, pre.classList.contains("whole")]),
  };
}

/** Puts it back into the new drawing. */
export function restore(node, kept) {
  for (const form of node.querySelectorAll("form")) {
    // Another token is another question: words for the last one do not belong there.
    const old = kept.forms.find((old) => old.token === form.dataset.token);
    if (!old) continue;
    form.hidden &&= !old.shown;
    form.querySelector("textarea").value = old.words;
    setPrompt(form, old.prompt);
  }
  [...node.querySelectorAll("details")].forEach((details, at) => {
    // A menu that was pressed in has done its work.
    details.open = Boolean(kept.opened[at]) && !details.classList.contains("menu");
  });
  [...node.querySelectorAll("pre")].forEach((pre, at) => {
    const [top, whole] = kept.scrolls[at] ?? [0, false];
    if (whole) pre.parentElement.querySelector(".more")?.click();
    pre.scrollTop = top;
  });
  if (!kept.focused) return;
  const same = [...node.querySelectorAll("[data-slot]")].find((other) => other.dataset.slot === kept.slot);
  (same ?? node).focus({ preventScroll: true });
  if (kept.caret && same) same.setSelectionRange(...kept.caret);
}

/** What a person would have to read again if it changed: all but which options are ticked. */
export function shape({ tone, title, blocks, buttons, more = [] }) {
  return JSON.stringify([tone, title, blocks, [...buttons, more].map((row) => row.map((button) => button.label))]);
}

/** Opens the field of a text button, with the question that it answers, and the text that it is in place of. */
export function askForWords(node, button, sentence, draft) {
  const form = [...node.querySelectorAll("form")].find((form) => form.dataset.token === button.token);
  if (!form) return;
  form.hidden = false;
  setPrompt(form, sentence);
  const field = form.querySelector("textarea");
  if (draft !== undefined && field.value === "") field.value = draft;
  field.dispatchEvent(new Event("input"));
  field.focus();
}

function setPrompt(form, sentence) {
  const prompt = form.querySelector(".prompt");
  prompt.textContent = sentence;
  prompt.hidden = sentence === "";
}
