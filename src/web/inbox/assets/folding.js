// How the list folds, as the chats do: the same request several times is one row, and of many requests of
// one agent and project the most urgent are shown.

import { isOpen, isQuestion } from "./asks.js";
import { shape } from "./keep.js";

// A group that has more rows than this shows so many.
const MOST = 8;
const FEW = 6;
const pictures = new WeakMap();

/**
 * The groups of a list: `{key, count, rows, hidden}` with the rows that are shown, `{entry, ids}`, where
 * `ids` are of all that the row stands for. `opened` holds the keys of groups that show all.
 */
export function foldList(list, opened) {
  const groups = new Map();
  for (const entry of list) {
    const group = groups.get(entry.group) ?? { key: entry.group, rows: new Map() };
    groups.set(entry.group, group);
    const row = group.rows.get(twin(entry));
    if (row) row.ids.push(entry.card.id);
    else group.rows.set(twin(entry), { entry, ids: [entry.card.id] });
  }
  return [...groups.values()].map(({ key, rows }) => {
    const all = [...rows.values()];
    const few = key !== "critical" && all.length > MOST && !opened.has(key);
    const count = all.flatMap(({ entry, ids }) => (isOpen(entry.card) ? ids : [])).length;
    return { key, count, rows: few ? all.slice(0, FEW) : all, hidden: few ? all.slice(FEW) : [] };
  });
}

/** Requests of one twin are pictures of the same call. What is critical or asks has a row of its own. */
function twin({ card, missing }) {
  if (card.tone !== "open" || missing || isQuestion(card)) return card.id;
  if (!pictures.has(card)) pictures.set(card, `${card.origin}\n${shape(card)}`);
  return pictures.get(card);
}
