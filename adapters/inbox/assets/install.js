// The worker that shows this page while countersign is away, and the app that a browser may install.

/** The worker's address: under it nobody else can have put one, because only this start has it. */
const worker = new URL("worker.js", import.meta.url).href;

/** Installs the worker of this start; called once countersign has proved itself. */
export async function install() {
  if (!navigator.serviceWorker || !window.isSecureContext) return;
  try {
    await uninstall((found) => found !== worker);
    await navigator.serviceWorker.register(trusted(), { scope: "/", updateViaCache: "none" });
  } catch {
    // Without it a reload needs countersign; nothing else is lost.
  }
}

/** Removes workers. SECURITY: one that is not of this start was left by somebody else who answered here. */
export async function uninstall(which = () => true) {
  const all = await navigator.serviceWorker?.getRegistrations().catch(() => []);
  for (const each of all ?? []) {
    const script = (each.active ?? each.waiting ?? each.installing)?.scriptURL;
    if (which(script)) await each.unregister().catch(() => false);
  }
}

/** The one address that the page's policy lets through. */
function trusted() {
  if (!window.trustedTypes) return worker;
  return window.trustedTypes.createPolicy("worker", { createScriptURL: () => worker }).createScriptURL("");
}
