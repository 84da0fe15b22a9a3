// The search field and the chips above the list: what of it is shown.

import { agentOf, entries, isOpen, isQuestion, waiting } from "./asks.js";
import { $, arrange, el, put } from "./dom.js";

const field = $("search");
let chosen = "all";

const kinds = {
  all: { label: "All", fits: () => true },
  critical: { label: "Critical", fits: ({ tone }) => tone === "critical" },
  questions: { label: "Questions", fits: (card) => isQuestion(card) },
};

/** Calls `changed` whenever the filter is another one. */
export function hangFilter(changed) {
  field.addEventListener("input", changed);
  $("chips").addEventListener("click", (event) => {
    const chip = event.target.closest(".chip");
    if (!chip) return;
    chosen = chosen === chip.dataset.kind ? "all" : chip.dataset.kind;
    changed();
  });
}

/** Whether a request is shown. */
export function fits({ card }) {
  const kind = kinds[chosen] ?? { fits: () => agentOf(card) === chosen.slice(1) };
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (!isOpen(card) && chosen !== "all" && chosen in kinds) return words.length > 0 && contains(card, words);
  return kind.fits(card) && contains(card, words);
}

/** Whether all is shown. */
export const isWide = () => chosen === "all" && field.value.trim() === "";

/** Shows everything again. */
export function widen() {
  chosen = "all";
  field.value = "";
}

/** Draws the chips, each with what it would show of what waits. */
export function paintChips() {
  const open = waiting().map(({ card }) => card);
  const agents = [...new Set([...entries.values()].map(({ card }) => agentOf(card)))].sort();
  const several = agents.length > 1 ? agents : [];
  const chips = [
    ...Object.entries(kinds).map(([kind, { label, fits }]) => [kind, label, open.filter(fits).length]),
    ...several.map((agent) => [`@${agent}`, agent, open.filter((card) => agentOf(card) === agent).length]),
  ];
  const old = new Map([...$("chips").children].map((chip) => [chip.dataset.kind, chip]));
  arrange($("chips"), chips.map(([kind, label, count]) => {
    const chip = old.get(kind) ?? el("button", { type: "button", className: "chip", "data-kind": kind },
      el("bdi", { textContent: label }), " ", el("span", {}));
    put(chip.lastElementChild, String(count));
    chip.setAttribute("aria-pressed", chosen === kind);
    return chip;
  }));
}

function contains(card, words) {
  if (words.length === 0) return true;
  const text = [card.title, card.worst ?? "", card.origin, ...card.blocks.map(textOf)].join("\n").toLowerCase();
  return words.every((word) => text.includes(word));
}

function textOf(block) {
  switch (block.kind) {
    case "fields": return block.fields.map(({ value }) => value).join("\n");
    case "details": return block.blocks.map(textOf).join("\n");
    case "diff": return [block.path, ...block.lines.map(({ text }) => text)].join("\n");
    default: return block.text;
  }
}
