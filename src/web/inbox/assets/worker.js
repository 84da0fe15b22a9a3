// Shows push messages while no page is open, and hands on what a notification answers. It keeps nothing, and no
// page is under its control.

// The types of a page are not those of a worker.
const worker = /** @type {any} */ (self);
const CARD = /^[\w-]{1,22}$/;

worker.addEventListener("install", () => worker.skipWaiting());

worker.addEventListener("push", (event) => event.waitUntil(show(event.data)));

worker.addEventListener("notificationclick", (event) => {
  const { notification, action } = event;
  notification.close();
  const { card, answers } = notification.data;
  const chosen = answers?.all.find(({ act }) => act === action);
  event.waitUntil(chosen ? answer(notification, chosen) : open(card));
});

async function show(data) {
  const { title, body, card, answers } = read(data);
  // An open page rings itself; browsers allow silence while one has the focus.
  if ((await pages()).some((page) => page.focused)) return;
  // Browsers show two; a press on the notification itself opens the request.
  const actions = [...(answers?.all ?? []).map(({ act, label }) => ({ action: act, title: label })), { action: "open", title: "Open" }];
  await notify(title, { body, card, answers, actions });
}

function notify(title, { body, card, answers = null, actions = [] }) {
  return worker.registration.showNotification(title, {
    body, actions, data: { card, answers }, tag: card ?? "several", renotify: true, icon: "/inbox/icon.png", badge: "/inbox/icon.png",
  });
}

function read(data) {
  try {
    const { title, body, card, answers } = data.json();
    return { title: String(title), body: String(body), card: CARD.test(card) ? card : null, answers };
  } catch {
    return { title: "countersign", body: "A request may wait for you.", card: null };
  }
}

/** Sends an answer with the proof that came for it. What did not apply is said. */
async function answer({ title, data: { card, answers: { browser } } }, { act, proof }) {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ card, act, browser, proof });
  const told = await fetch("/inbox/push/answer", { method: "POST", headers, body, credentials: "omit", cache: "no-store" })
    .then((reply) => reply.json()).catch(() => ({ error: "countersign did not answer. Open the request." }));
  if (told.outcome !== "applied") await notify(told.sentence || told.error, { body: title, card });
}

async function open(card) {
  const page = (await pages())[0];
  if (!page) return worker.clients.openWindow(card ? `/#/ask/${card}` : "/");
  page.postMessage({ open: card });
  return page.focus();
}

async function pages() {
  const all = await worker.clients.matchAll({ type: "window", includeUncontrolled: true });
  return all.filter((page) => new URL(page.url).pathname === "/");
}
