// Elements. Text goes in as text nodes only: nothing an agent writes is ever parsed.

/** The element of this id. @type {(id: string) => any} */
export const $ = (id) => document.getElementById(id);

/** The elements of this selector. @returns {HTMLElement[]} */
export const all = (selector) => [...document.querySelectorAll(selector)];

/** An element with properties, attributes (`aria-…`, `data-…`) and children. @returns {any} */
export function el(name, props = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (key in node) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** Brings children into this order. A child that is in its place is not touched, so it keeps its focus. */
export function arrange(parent, wanted) {
  const stay = new Set(wanted);
  for (const child of [...parent.children]) if (!stay.has(child)) child.remove();
  let at = parent.firstElementChild;
  for (const child of wanted) {
    if (child === at) at = at.nextElementSibling;
    else parent.insertBefore(child, at);
  }
}

/** Sets a text, if it is another one. */
export function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Says a sentence to people who listen to the page. */
export function say(sentence) {
  $("live").textContent = sentence;
}

/** A desk has room for the list beside the detail. */
export const desk = window.matchMedia("(min-width: 900px)");
