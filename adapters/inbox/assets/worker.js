// Keeps the files of this page, so that it can say that countersign is away. It never keeps a card, a
// record or a token: what is not in this list goes to the network as if there were no worker.

const START = new URL("./", location.href).pathname;
const SHELL = `countersign ${START}`;
const FILES = [
  "base.css", "inbox.css", "card.css", "pages.css", "inbox.js", "act.js", "asks.js", "bell.js", "blocks.js",
  "buttons.js", "card.js", "detail.js", "dom.js", "filter.js", "grants.js", "history.js", "install.js",
  "keep.js", "keys.js", "line.js", "list.js", "pages.js", "parts.js", "pause.js", "proof.js", "record.js",
  "route.js", "sessions.js", "settle.js", "several.js", "sight.js", "status.js", "time.js", "icon.svg",
  "icon.png", "manifest.webmanifest",
];

self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(keep());
});

self.addEventListener("activate", (event) => {
  event.waitUntil(dropOthers().then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { pathname } = new URL(request.url);
  if (request.method !== "GET") return;
  if (request.mode === "navigate" && pathname === "/") event.respondWith(fetch(request).catch(() => kept("/")));
  else if (FILES.some((name) => pathname === START + name)) event.respondWith(kept(request));
});

async function keep() {
  const cache = await caches.open(SHELL);
  await cache.addAll(FILES.map((name) => START + name));
  const page = await fetch("/", { credentials: "same-origin" });
  if (page.ok) await cache.put("/", page);
}

/** A start has files of its own; those of earlier ones are over. */
async function dropOthers() {
  for (const name of await caches.keys()) if (name !== SHELL) await caches.delete(name);
}

async function kept(request) {
  const cache = await caches.open(SHELL);
  return (await cache.match(request)) ?? fetch(request);
}
