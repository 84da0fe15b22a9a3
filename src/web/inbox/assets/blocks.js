// The content of a card, block by block.

import { el } from "./dom.js";
import { localised } from "./time.js";
import { verdictOf } from "./verdict.js";

/** An agent's words on one line: isolated, and never reordered. */
export const firstLine = (title) => el("bdi", { className: "first", dir: "ltr", textContent: title });

/** The blocks of a card; those that blanks make long hold a short text too. */
export function folded({ card, folded = {} }) {
  return card.blocks.map((block, at) => (at in folded ? { ...block, short: folded[at] } : block));
}

/** One block of a card. */
export function drawBlock(block, card) {
  switch (block.kind) {
    case "code":
      return el("figure", { className: "code" },
        block.label ? el("figcaption", { textContent: block.label }) : null, drawCode(block));
    case "diff":
      return drawDiff(block);
    case "details": {
      const inside = block.blocks.map((each) => drawBlock(each, card));
      const node = el("details", { className: "details" }, el("summary", { textContent: "Details" }), ...inside);
      node.addEventListener("toggle", () => fit(node));
      return node;
    }
    case "quote":
      if (block.label === "") return el("p", { className: "why", dir: "auto", textContent: `says: “${block.short ?? block.text}”` });
      return el("figure", { className: "quote" },
        el("figcaption", { textContent: block.label }),
        el("blockquote", { dir: "auto", textContent: block.short ?? block.text }));
    case "fields": {
      // Numbered facts are a list of options, to be read one below the other.
      const numbered = block.fields.every((field) => /^\d+$/.test(field.name));
      return el("dl", { className: numbered ? "fields list" : "fields" }, ...block.fields.map((field) =>
        el("div", {}, el("dt", { textContent: field.name }),
          el("dd", {}, el("bdi", { textContent: field.value })))));
    }
    case "outcome": {
      const { sign, words } = verdictOf(card);
      return el("p", { className: "outcome", "data-sign": sign, textContent: localised(words) });
    }
    default:
      return el("p", { className: "note", textContent: localised(block.text) });
  }
}

/** A change: every line with its sign, so that it is read without colours too. */
function drawDiff({ path, added, removed, lines }) {
  const signs = { both: "  ", removed: "- ", added: "+ ", skipped: "⋮ " };
  const pre = el("pre", { role: "region", "aria-label": `change of ${path || "the file"}`, className: "diff" },
    ...lines.map(({ side, text }) => el("span", { className: side, textContent: `${signs[side]}${text}\n` })));
  return el("figure", { className: "code" },
    path ? el("figcaption", {}, el("bdi", { textContent: path }), ` +${added} −${removed}`) : null, pre);
}

function drawCode({ label, text, short }) {
  const pre = el("pre", { role: "region", "aria-label": label || "text", textContent: short ?? text });
  if (short !== undefined) pre.exact = text;
  return pre;
}

/**
 * Says how long a text is that has to be scrolled or was folded, shows how it ends, and offers all of it.
 * Needs the card in the page.
 */
export function fit(node) {
  for (const pre of node.querySelectorAll("pre:not([data-fit])")) {
    if (pre.clientHeight === 0) continue;
    pre.dataset.fit = "";
    const cut = pre.scrollHeight > pre.clientHeight + 4;
    if (!cut && pre.exact === undefined) continue;
    const isDiff = pre.classList.contains("diff");
    const short = pre.textContent;
    const exact = pre.exact ?? short;
    const end = cut ? el("div", { className: "end-of", "aria-hidden": "true", textContent: lastOf(short) }) : null;
    const lines = exact.replace(/\n$/, "").split("\n").length.toLocaleString("en");
    const characters = [...exact].length.toLocaleString("en");
    const more = el("button", { type: "button", className: "more", textContent: "Show all" });
    more.addEventListener("click", () => {
      const whole = pre.classList.toggle("whole");
      if (!isDiff) pre.textContent = whole ? exact : short;
      if (end) end.hidden = whole;
      more.textContent = whole ? "Show less" : "Show all";
    });
    if (cut) {
      pre.classList.add("long");
      pre.tabIndex = 0;
    }
    const how = cut ? "" : ": blanks are counted instead of shown";
    const size = el("p", { className: "size" },
      `${lines} ${lines === "1" ? "line" : "lines"}, ${characters} characters${how}. `, more,
      end ? " The end:" : "");
    pre.after(size, ...(end ? [end] : []));
  }
}

/** The end of a text: a few lines of it, and no more of one endless line than a few would take. */
function lastOf(text) {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.slice(-5).join("\n").slice(-500);
}
