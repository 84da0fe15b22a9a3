// Where the page is: `#/` the inbox, `#/ask/ID` one request, `#/history`, `#/history/ID`, `#/grants`, …
// The browser's own back and forward work, and a reload stays where it was.

const followers = new Set();

/** The page and what of it is open. */
export function route() {
  const [page, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  const id = rest.join("/");
  if (page === "ask" || page === "selected" || page === "") return { page: "inbox", view: page, id };
  return { page, view: "", id };
}

/** Goes to an address, such as `ask/ID`; `instead`: back does not return to where we are. */
export function go(path, instead = false) {
  const hash = `#/${path}`;
  if (location.hash === hash || (path === "" && location.hash === "")) return;
  history[instead ? "replaceState" : "pushState"]({ ours: !instead || history.state?.ours }, "", hash);
  for (const follower of followers) follower();
}

/** Goes back to where the person came from, or to this address if they came straight here. */
export function back(path) {
  if (history.state?.ours) history.back();
  else go(path, true);
}

/** Calls whenever the page is somewhere else. */
export function onRoute(follower) {
  followers.add(follower);
  window.addEventListener("popstate", follower);
}
