// Draws a card. Text goes in as text nodes only: nothing an agent writes is ever parsed.

/** An element with properties, attributes (`aria-…`, `data-…`) and children. */
export function el(name, props = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (key in node) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** Whether a card's ask still waits for a person. */
export const isOpen = ({ tone }) => tone === "open" || tone === "critical";

/** An open card, or one that has just been closed. `act(button, text)` presses. */
export function drawCard(entry, act) {
  const { card } = entry;
  const open = isOpen(card);
  const timed = open && card.deadline !== null;
  const { content, near } = split(folded(entry));
  const article = el("article", {
    className: "card", tabIndex: 0, "data-tone": card.tone, "data-id": card.id,
    "aria-labelledby": `t-${card.id}`,
  });
  article.append(
    el("div", { className: "head" }, el("h3", { id: `t-${card.id}` }, ...critical(card), firstLine(card.title))),
    timed ? el("div", { className: "sand" }, el("div")) : "",
    el("p", { className: "origin" },
      el("bdi", { textContent: card.origin }), timed ? el("span", { className: "left", role: "timer" }) : null),
    ...content.map(drawBlock),
    el("div", { className: "foot", id: `n-${card.id}` }, ...near.map(drawBlock)),
    ...drawButtons(entry, act),
    el("p", { className: "receipt", hidden: true }),
  );
  return article;
}

/** A closed card as one line that opens. */
export function drawClosed(entry, act) {
  const { card } = entry;
  const blocks = folded(entry);
  const outcome = blocks.findLast((block) => block.kind === "outcome");
  const rest = blocks.filter((block) => block !== outcome).flatMap((block) => block.kind === "details" ? block.blocks : [block]);
  const details = el("details", { className: "was", "data-tone": card.tone, "data-id": card.id },
    el("summary", {},
      el("span", { className: "gist" }, firstLine(card.title)),
      el("span", { className: "end", textContent: outcome ? outcome.text : card.tone })),
    el("div", { className: "body" },
      el("h3", {}, firstLine(card.title)), el("p", { className: "origin" }, el("bdi", { textContent: card.origin })),
      ...rest.map(drawBlock), ...drawButtons(entry, act), el("p", { className: "receipt", hidden: true })));
  details.addEventListener("toggle", () => fit(details));
  return details;
}

/** An agent's words: isolated, and never reordered. */
const firstLine = (title) => el("bdi", { className: "first", dir: "ltr", textContent: title });

const critical = ({ tone }) => tone === "critical" ? [el("span", { className: "critical", textContent: "🛑 CRITICAL" }), " "] : [];

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
    const how = cut ? "scroll to read, or " : "blanks are counted instead of shown. ";
    const size = el("p", { className: "size" },
      `${lines} ${lines === "1" ? "line" : "lines"}, ${characters} characters: ${how}`, more,
      end ? " It ends:" : "");
    pre.after(size, ...(end ? [end] : []));
  }
}

/** The end of a text: a few lines of it, and no more of one endless line than a few would take. */
function lastOf(text) {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.slice(-5).join("\n").slice(-500);
}

/** The blocks of a card; those that blanks make long hold a short text too. */
function folded({ card, folded = {} }) {
  return card.blocks.map((block, at) => (at in folded ? { ...block, short: folded[at] } : block));
}

/** What stands right above the buttons: the closing notes, such as what Always stores. */
function split(blocks) {
  const near = [];
  const content = [...blocks];
  while (["note", "outcome"].includes(content.at(-1)?.kind)) near.unshift(content.pop());
  return { content, near };
}

function drawBlock(block) {
  switch (block.kind) {
    case "code":
      return el("figure", { className: "code" },
        block.label ? el("figcaption", { textContent: block.label }) : null, drawCode(block));
    case "diff":
      return drawDiff(block);
    case "details": {
      const node = el("details", { className: "details" }, el("summary", { textContent: "Details" }), ...block.blocks.map(drawBlock));
      node.addEventListener("toggle", () => fit(node));
      return node;
    }
    case "quote":
      if (block.label === "") return el("p", { className: "why", dir: "auto", textContent: `“${block.short ?? block.text}”` });
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
    case "outcome":
      return el("p", { className: "outcome", textContent: block.text });
    default:
      return el("p", { className: "note", textContent: block.text });
  }
}

/** A change: every line with its sign, so that it is read without colours too. */
function drawDiff({ path, added, removed, lines }) {
  const signs = { both: "  ", removed: "- ", added: "+ ", skipped: "⋮ " };
  const pre = el("pre", { role: "region", "aria-label": `change of ${path}`, className: "diff" },
    ...lines.map(({ side, text }) => el("span", { className: side, textContent: `${signs[side]}${text}\n` })));
  return el("figure", { className: "code" },
    el("figcaption", {}, el("bdi", { textContent: path }), ` +${added} −${removed}`), pre);
}

function drawCode({ label, text, short }) {
  const pre = el("pre", { role: "region", "aria-label": label, textContent: short ?? text });
  if (short !== undefined) pre.exact = text;
  return pre;
}

function drawButtons({ card }, act) {
  if (card.buttons.length === 0 && (card.more ?? []).length === 0) return [];
  const buttons = card.buttons.flat();
  const isQuestion = buttons.some((b) => b.style === "choice" || b.style === "chosen");
  const toggles = buttons.some((b) => b.style === "submit");
  const keys = shortcuts(buttons);
  const rows = card.buttons.map((row, at) => {
    const drawn = row.filter((b) => b.style !== "text")
      .map((button) => drawButton(button, keys.get(button), toggles, card, act));
    const texts = row.filter((b) => b.style === "text");
    // A field for each text button: open where an answer in words is as good as any, else on demand.
    const fields = texts.map((button) => drawField(button, keys.get(button), isQuestion, act));
    const openers = isQuestion ? [] : fields.map((field) => field.opener);
    return [
      ...(isQuestion ? fields.map((field) => field.form) : []),
      el("div", { className: "row", "data-row": at, "data-many": drawn.length + openers.length },
        ...drawn, ...openers),
      ...(isQuestion ? [] : fields.map((field) => field.form)),
    ];
  });
  return [el("div", { className: isQuestion ? "buttons question" : "buttons" }, ...rows.flat(), ...drawMore(card, act))];
}

/** What stands behind More…; the fields of its text buttons stand below it. */
function drawMore({ id, more = [] }, act) {
  if (more.length === 0) return [];
  const fields = new Map(more.filter((b) => b.style === "text").map((b) => [b, drawField(b, null, false, act)]));
  const items = more.map((button) => fields.get(button)?.opener ?? drawButton(button, null, false, { id }, act));
  const menu = el("details", { className: "menu" },
    el("summary", { "data-slot": "More…", textContent: "More…" }), el("div", { className: "items row" }, ...items));
  return [menu, ...[...fields.values()].map((field) => field.form)];
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
    rows: 1, maxLength: 16_000, placeholder: button.label, "aria-label": button.label,
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
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.repeat) return;
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

/** One key per button: the first of each kind by its letter, options by their number. */
function shortcuts(buttons) {
  const letters = { approve: "a", always: "w", deny: "d", submit: "s", text: "t" };
  const keys = new Map();
  const taken = new Set();
  let options = 0;
  for (const button of buttons) {
    const option = button.style === "choice" || button.style === "chosen";
    const key = option ? String((options += 1)) : letters[button.style];
    if (!key || key.length > 1 || taken.has(key)) continue;
    taken.add(key);
    keys.set(button, key);
  }
  return keys;
}
