// What became of a request, in a sign and in words: colours alone say nothing.

const ENDS = {
  approved: ["✓", "Approved", /^(approved|answered|fine|resumed)\b/i],
  denied: ["✗", "Denied", /^(denied|should have asked|kept paused)\b/i],
  expired: ["⌛", "Timed out", /^(timed out|expired|nobody)\b/i],
  cancelled: ["–", "Cancelled", /^cancelled\b/i],
};
const SIGNS = { applied: "✓", noted: "", sending: "", text_wanted: "", expired: "⌛", cancelled: "–" };

/** The sign and the words of a closed card; the words are the card's own where they say the verdict. */
export function verdictOf({ tone, blocks }) {
  const text = blocks.findLast(({ kind }) => kind === "outcome")?.text ?? "";
  const [sign, word, said] = ENDS[tone] ?? ["", tone, /^/];
  const short = tone === "approved" && isAnswer(blocks) ? "Answered" : word;
  if (said.test(text)) return { sign, words: text.charAt(0).toUpperCase() + text.slice(1) };
  return { sign, words: text === "" ? short : `${short} · ${text}` };
}

/** The sign of what came of a press. */
export function signOf({ outcome, sentence }) {
  if (outcome === "applied" && /^(denied|left|declined|skipped)/i.test(sentence)) return "✗";
  return SIGNS[outcome] ?? "⚠";
}

/** Whether a closed card was a question. */
const isAnswer = (blocks) => blocks.some(({ kind, blocks: inside }) =>
  kind === "details" && inside.some((block) => block.kind === "quote" && block.label === "question"));
