// Rules: which word of a command meets which rule, who could answer it, and what a rule would have changed before it
// is saved.

import { whoCould } from "./answerers.js";
import { firstLine } from "./blocks.js";
import { el, say } from "./dom.js";
import { post, revoke } from "./line.js";
import { counted, facts, pageHead, quiet, sentence } from "./parts.js";
import { when } from "./time.js";

const SHELL = "shell_exec";
const WORDS = { allow: "Allowed", ask: "Asks a person", deny: "Denied" };

export const rules = { show };

function show(part) {
  // What was typed stays while the page is open elsewhere.
  if (part.querySelector("form")) return;
  part.replaceChildren(el("div", { className: "wide" },
    pageHead("rules", "Rules"),
    el("p", { className: "lead", textContent: "Nothing here runs or asks anybody. Only Save changes what agents may do." }),
    el("h3", { textContent: "Explain a command" }),
    panel("explain", "Explain", [
      field("command", "Command", { required: true, className: "wide-field" }), field("cwd", "Folder"),
    ], explain),
    el("h3", { textContent: "Who could answer a command" }),
    panel("answerers", "Show who", [
      field("command", "Command", { required: true, className: "wide-field" }),
      field("cwd", "Folder"), field("agent", "Agent"), field("host", "Machine"),
    ], answerers),
    el("h3", { textContent: "Try a rule" }),
    panel("try", "Try", [
      field("pattern", "Pattern, such as cargo build *", { required: true, className: "wide-field" }),
      field("tool", "Tool", { required: true, value: SHELL }), verdicts(),
    ], tryRule)));
}

/** A form with its result below; `act` turns what was typed into the result. */
function panel(name, label, fields, act) {
  const said = el("div", { className: "said", role: "status" });
  const form = el("form", { className: "trial", "data-form": name }, ...fields,
    el("button", { type: "submit", className: "quiet", textContent: label }));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    said.setAttribute("aria-busy", "true");
    said.replaceChildren(...(await act(Object.fromEntries(new FormData(form)))));
    said.removeAttribute("aria-busy");
  });
  return el("section", {}, form, said);
}

const field = (name, label, props = {}) => el("input", {
  type: "text", name, placeholder: label, "aria-label": label, autocomplete: "off", spellcheck: false, ...props,
});

const verdicts = () => el("select", { name: "verdict", "aria-label": "Verdict" },
  ...["allow", "ask", "deny"].map((value) => el("option", { value, textContent: value })));

async function explain({ command, cwd }) {
  const call = { tool: SHELL, args: { command }, ...(cwd.trim() ? { cwd: cwd.trim() } : {}) };
  const { status, body } = await post("rules/explain", call);
  if (status !== 200) return [sentence(body.error, "wrong")];
  say(WORDS[body.verdict]);
  return [el("div", { className: "tile" },
    el("div", { className: "tile-head" }, el("h4", { textContent: body.reason }), badge(body.verdict, body.critical)),
    facts([["Rule", body.rule], ["Effects", body.effects.join("\n")], ["Always stores", body.always.join("\n")]])),
  el("ul", { className: "tiles parts" }, ...(body.parts.length > 1 || body.parts[0]?.words ? body.parts : []).map(drawPart))];
}

async function answerers({ command, ...about }) {
  const given = Object.entries(about).map(([name, value]) => [name, value.trim()]).filter(([, value]) => value);
  return await whoCould({ tool: SHELL, args: { command }, ...Object.fromEntries(given) });
}

function drawPart(part) {
  return el("li", { className: "tile" },
    el("div", { className: "tile-head" }, el("h4", {}, literal(part.command)), badge(part.verdict)),
    facts([["Words", part.words && literal(part.words)], ["Rule", part.rule], ["Reason", part.reason]]));
}

async function tryRule({ pattern, tool, verdict }) {
  const rule = { pattern, tool: tool.trim(), verdict };
  const { status, body } = await post("rules/try", rule);
  if (status !== 200) return [sentence(body.error, "wrong")];
  const line = `It would change ${counted(body.changes, "request")} of the latest ${body.calls} that people were asked about.`;
  say(line);
  return [sentence(line),
    el("ul", { className: "records", "aria-label": "Changed requests" }, ...body.changed.map(drawChange)),
    body.changed.length < body.changes ? sentence(`These are the latest ${body.changed.length}.`) : "",
    verdict === "allow" ? saver(rule) : "",
    el("p", { className: "lead" }, "The line for the rules file: ", el("code", { className: "in", textContent: body.line }))];
}

/** The button that saves a rule in the name of whoever is signed in, and then the one that takes it back. */
function saver(rule) {
  const box = el("div", { className: "saver", "data-save": "" });
  const what = rule.tool === SHELL ? rule.pattern : `${rule.tool}: ${rule.pattern}`;
  const tell = (text, tone, ...buttons) => {
    box.replaceChildren(sentence(text, tone), ...buttons);
    say(text);
  };
  const save = quiet(`Save: allow ${what}`, async () => {
    save.disabled = true;
    const { status, body } = await post("rules/save", rule);
    save.disabled = false;
    if (status !== 200) return tell(body.error, "wrong", save);
    const undo = quiet("Undo", async () => {
      undo.disabled = true;
      const gone = await revoke(body.id);
      undo.disabled = false;
      if (gone.status === 200) tell(`Undone: ${body.rule}. Agents ask again from now on.`, "calm", save);
      else tell(gone.body.error, "wrong", undo);
    });
    tell(`Saved: ${body.rule}. Agents run it without asking from now on.`, "calm", undo);
    undo.focus();
  });
  box.append(save);
  return box;
}

function drawChange(change) {
  return el("li", { className: "item", "data-ask": change.ask, "data-verdict": change.after },
    el("a", { href: `#/history/${encodeURIComponent(change.ask)}` },
      el("span", { className: "gist" }, firstLine(change.title)), el("span", { className: "end" }, when(change.closed)),
      el("span", { className: "hint", textContent: `${WORDS[change.before]} → ${WORDS[change.after]} · ${change.reason}` })));
}

const badge = (verdict, critical = false) => el("span", {
  className: `badge ${{ allow: "up", ask: "starting", deny: "down" }[verdict]}`,
  textContent: critical ? `${WORDS[verdict]} · critical` : WORDS[verdict],
});

const literal = (text) => el("bdi", { className: "first", dir: "ltr", textContent: text });
