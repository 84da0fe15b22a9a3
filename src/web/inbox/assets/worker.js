// Shows push messages while no page is open. It keeps nothing, and no page is under its control.

const CARD = /^[\w-]{1,22}$/;

self.addEventListener("install", () => self.skipWaiting());

self.addEventListener("push", (event) => event.waitUntil(show(event.data)));

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data));
});

async function show(data) {
  const { title, body, card } = read(data);
  // An open page rings itself; browsers allow silence while one has the focus.
  if ((await pages()).some((page) => page.focused)) return;
  await self.registration.showNotification(title, {
    body, data: card, tag: card ?? "several", renotify: true, icon: "/inbox/icon.png", badge: "/inbox/icon.png",
  });
}

function read(data) {
  try {
    const { title, body, card } = data.json();
    return { title: String(title), body: String(body), card: CARD.test(card) ? card : null };
  } catch {
    return { title: "countersign", body: "A request may wait for you.", card: null };
  }
}

async function open(card) {
  const page = (await pages())[0];
  if (!page) return self.clients.openWindow(card ? `/#/ask/${card}` : "/");
  page.postMessage({ open: card });
  return page.focus();
}

async function pages() {
  const all = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  return all.filter((page) => new URL(page.url).pathname === "/");
}
