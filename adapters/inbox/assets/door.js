// A link from another site brings the key, but the browser holds a strict cookie back on that first
// visit. Going on from here is a visit of our own, so the cookie comes along. Tried once.
if (location.hash.startsWith("#key=") && location.search !== "?again") {
  location.replace("/?again" + location.hash);
}
