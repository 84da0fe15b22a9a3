// Web Push: this browser is told of new requests while no page is open.

import { request } from "./line.js";

const WORKER = "/push/worker.js";
// A folder without pages: the worker shows messages and sees no request of this page.
const FOLDER = "/push/";
const policy = globalThis.trustedTypes?.createPolicy("countersign-worker", { createScriptURL: () => WORKER });

/** Whether this browser can be told at all. On an iPhone only an installed page can. */
export const canPush = "serviceWorker" in navigator && "PushManager" in window && "Notification" in window && window.isSecureContext;

/** Whether this browser is told now. */
export async function isPushed() {
  return Boolean(await (await registration())?.pushManager.getSubscription());
}

/** Subscribes this browser; returns a sentence if that fails. */
export async function pushOn() {
  const { status, body } = await request("GET", "/inbox/push");
  if (status !== 200) return body.error;
  try {
    const worker = await navigator.serviceWorker.register(policy?.createScriptURL("") ?? WORKER, { scope: FOLDER, updateViaCache: "none" });
    await active(worker);
    // Another daemon's key, or one from before its file was lost: only a new subscription knows ours.
    await (await worker.pushManager.getSubscription())?.unsubscribe();
    const subscription = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: body.key });
    const kept = await request("POST", "/inbox/push", subscription.toJSON());
    if (kept.status === 200) return "";
    await subscription.unsubscribe();
    return kept.body.error;
  } catch (problem) {
    return `The browser refused: ${problem.message}.`;
  }
}

/** Unsubscribes this browser. */
export async function pushOff() {
  const subscription = await (await registration())?.pushManager.getSubscription();
  if (!subscription) return;
  await subscription.unsubscribe();
  await request("POST", "/inbox/push/stop", { endpoint: subscription.endpoint });
}

/**
 * Once the daemon has proved itself: takes its worker, tells it of this browser again, and follows clicks on
 * notifications. SECURITY: a worker that an impostor on this port may have left is replaced by ours.
 */
export async function keepPush(open) {
  if (!canPush) return;
  navigator.serviceWorker.addEventListener("message", ({ data }) => { if (data?.open) open(data.open); });
  navigator.serviceWorker.startMessages();
  const worker = await registration();
  if (!worker) return;
  worker.update().catch(() => {});
  const subscription = await worker.pushManager.getSubscription();
  if (subscription) await request("POST", "/inbox/push", subscription.toJSON());
}

async function registration() {
  if (!canPush) return undefined;
  return (await navigator.serviceWorker.getRegistrations()).find(({ scope }) => new URL(scope).pathname === FOLDER);
}

async function active(worker) {
  const coming = worker.installing ?? worker.waiting;
  if (worker.active || !coming) return;
  await /** @type {Promise<void>} */ (new Promise((resolve) => coming.addEventListener("statechange", () => coming.state === "activated" && resolve())));
}
