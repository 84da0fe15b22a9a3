// Parts that the pages of records share.

import { el } from "./dom.js";

/** The head of a page: its title, what it is about, and what can be done with the whole of it. */
export function pageHead(id, title, ...tools) {
  return el("div", { className: "page-head" }, el("h2", { id: `${id}-title`, textContent: title }), ...tools);
}

/** A sentence in the place of content: nothing there, or what is wrong. */
export const sentence = (text, tone = "calm") => el("p", { className: `sentence ${tone}`, textContent: text });

/** A number of things, such as `1 request` and `2 requests`. */
export const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

/** Facts by name; those without a value are left out. */
export function facts(pairs) {
  const given = pairs.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return el("dl", { className: "facts" }, ...given.map(([name, value]) =>
    el("div", {}, el("dt", { textContent: name }), el("dd", {}, value instanceof Node ? value : el("bdi", { textContent: value })))));
}

/** A button of a page. */
export function quiet(label, act, props = {}) {
  const node = el("button", { type: "button", className: "quiet", textContent: label, ...props });
  node.addEventListener("click", () => act(node));
  return node;
}

/** Who decided, as `by` of the API says. */
export function byWhom(by) {
  switch (by?.kind) {
    case "person": return by.name === by.id || !by.platform || by.platform === "inbox" ? by.name : `${by.name} (${by.platform})`;
    case "policy": return "a rule";
    case "timeout": return "nobody in time";
    case "no_approver": return "nobody could be reached";
    case "caller": return "its caller";
    default: return undefined;
  }
}
