// The buttons of a card, the menu behind More…, and the fields for what is said in words.

import { el } from "./dom.js";
import { isOpen, isQuestion } from "./asks.js";

/** The most lines that a field shows at once. */
const LINES = 20;

/** What is pressed on a card: a bar that stays in reach. `act(button, text)` presses. */
export function drawButtons(card, act) {
  const buttons = card.buttons.flat();
  if (buttons.length === 0 && (card.more ?? []).length === 0) return [];
  const question = isOpen(card) && isQuestion(card);
  const toggles = buttons.some(({ style }) => style === "submit");
  const keys = shortcuts(buttons, card.more ?? [], isOpen(card));
  const rows = card.buttons.flatMap((row, at) => {
    const drawn = row.filter(({ style }) => style !== "text")
      .map((button) => drawButton(button, keys.get(button), toggles, card, act));
    // A field for each text button: open where an answer in words is as good as any, else on demand.
    const fields = row.filter(({ style }) => style === "text")
      .map((button) => drawField(button, keys.get(button), question, act));
    const openers = question ? [] : fields.map(({ opener }) => opener);
    const forms = fields.map(({ form }) => form);
    const line = el("div", { className: "row", "data-row": at, "data-many": drawn.length + openers.length },
      ...drawn, ...openers);
    return question ? [...forms, line] : [line, ...forms];
  });
  return [el("div", { className: question ? "buttons question" : "buttons" }, ...rows, ...drawMore(card, keys, act))];
}

/** What is behind More…; the fields of its text buttons are below it. */
function drawMore({ id, more = [] }, keys, act) {
  if (more.length === 0) return [];
  const fields = new Map(more.filter((b) => b.style === "text").map((b) => [b, drawField(b, keys.get(b), false, act)]));
  const items = more.map((button) => fields.get(button)?.opener ?? drawButton(button, keys.get(button), false, { id }, act));
  const menu = el("details", { className: "menu" },
    el("summary", { "data-slot": "More…", textContent: "More…" }), el("div", { className: "items row" }, ...items));
  return [menu, ...[...fields.values()].map(({ form }) => form)];
}

function drawButton(button, key, toggles, card, act) {
  const node = el("button", {
    type: "button", className: button.style, "data-slot": button.label, "data-style": button.style,
  }, el("span", { textContent: button.label }));
  if (button.style === "always") node.setAttribute("aria-describedby", `n-${card.id}`);
  if (toggles && (button.style === "choice" || button.style === "chosen")) {
    node.classList.add("toggle");
    node.setAttribute("aria-pressed", button.style === "chosen");
  }
  if (key) hint(node, key);
  node.addEventListener("click", () => act(button));
  return node;
}

function drawField(button, key, open, act) {
  const field = el("textarea", {
    rows: 1, maxLength: 60_000, placeholder: button.label, "aria-label": button.label,
    "data-slot": `text ${button.label}`,
  });
  if (key && open) field.setAttribute("aria-keyshortcuts", key);
  const form = el("form", { className: "words", hidden: !open, "data-token": button.token },
    el("p", { className: "prompt", hidden: true }), field,
    el("button", { type: "submit", className: "send", textContent: "Send" }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (field.value.trim() === "") field.focus();
    else act(button, field.value);
  });
  // As large as what it holds, also where the browser does not do that itself.
  field.addEventListener("input", () => { field.rows = Math.min(field.value.split("\n").length, LINES); });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.repeat) return;
    // In a text of several lines it makes another.
    if (field.value.includes("\n") && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    form.requestSubmit();
  });
  const opener = el("button", { type: "button", className: "text", "data-slot": button.label },
    el("span", { textContent: button.label }));
  if (key) hint(opener, key);
  opener.addEventListener("click", () => act(button));
  return { form, opener };
}

function hint(node, key) {
  node.setAttribute("aria-keyshortcuts", key);
  node.append(el("kbd", { "aria-hidden": "true", textContent: key.toUpperCase() }));
}

// A key means one thing on every card. What has no style of its own is known by how its label begins.
const LETTERS = { approve: "a", always: "w", deny: "d", submit: "s", open: "r" };
const MEANINGS = [
  ["Deny with reason", "t"], ["Other", "o"], ["Approve with a note", "n"], ["Edit", "e"],
  ["10 min", "m"], ["Session", "v"], ["24 h", "h"],
  ["Always this prefix", "p"], ["Always", "y"],
  ["Skip", "i"], ["Deny and stop", "z"], ["Deny and explain", "l"],
];

const meaning = ({ label }) => MEANINGS.find(([begin]) => label.startsWith(begin))?.[1];

/** One key per button: those in sight by their style, options by their number, all others by their meaning. */
function shortcuts(buttons, more, open) {
  if (!open) return new Map(buttons.slice(0, 1).map((button) => [button, "u"]));
  const keys = new Map();
  const taken = new Set();
  const give = (button, key) => {
    if (!key || key.length > 1 || taken.has(key)) return;
    taken.add(key);
    keys.set(button, key);
  };
  let options = 0;
  for (const button of buttons) {
    const option = button.style === "choice" || button.style === "chosen";
    const styled = taken.has(LETTERS[button.style]) ? undefined : LETTERS[button.style];
    give(button, option ? String((options += 1)) : styled ?? meaning(button));
  }
  for (const button of more) give(button, meaning(button));
  return keys;
}
