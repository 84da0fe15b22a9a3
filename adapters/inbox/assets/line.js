// The line to countersign: the key, the stream of cards, and presses.

const HEADER = "x-countersign-inbox";
const PLACE = "countersign-key";
// The server says something every 10 s; after this long a silent line is dead (a phone that slept).
const SILENCE = 25_000;
const PRESS_LIMIT = 20_000;
const LONGEST_PAUSE = 5_000;

const key = takeKey();

/**
 * Follows the board for ever. `on.board({now, cards})` comes first on every connection, then
 * `on.card({now, card})`; `on.lost()` when the line breaks; `on.locked(sentence)` ends it.
 */
export async function follow(on) {
  let pause = 250;
  for (;;) {
    const silence = watchdog();
    try {
      const response = await fetch("/inbox/events", {
        headers: { [HEADER]: key },
        cache: "no-store",
        signal: silence.signal,
      });
      if (response.status === 401 || response.status === 403) {
        on.locked(await sentenceOf(response));
        return;
      }
      if (response.ok) {
        pause = 250;
        await read(response.body, silence, on);
      }
    } catch {
      // Whatever it was: the line is lost and is tried again.
    } finally {
      silence.stop();
    }
    on.lost();
    await wakeUpOr(pause);
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
}

/** Presses a button; says what came of it. */
export async function press(card, token, text) {
  try {
    const response = await fetch("/inbox/press", {
      method: "POST",
      headers: { [HEADER]: key, "content-type": "application/json" },
      body: JSON.stringify(text === undefined ? { card, token } : { card, token, text }),
      cache: "no-store",
      signal: AbortSignal.timeout(PRESS_LIMIT),
    });
    if (response.ok) return await response.json();
    return { outcome: "fault", sentence: await sentenceOf(response) };
  } catch {
    return {
      outcome: "fault",
      sentence: "countersign did not answer. The card will say whether the press arrived.",
    };
  }
}

/** The address brings the key once; it is kept where only this origin can read it. */
function takeKey() {
  const found = /^#key=([\w-]+)$/.exec(location.hash);
  if (location.hash || location.search) history.replaceState(null, "", "/");
  try {
    if (found) localStorage.setItem(PLACE, found[1]);
    return localStorage.getItem(PLACE) ?? "";
  } catch {
    return found ? found[1] : "";
  }
}

async function read(body, silence, on) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    silence.heard();
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) tell(event, on);
  }
}

function tell(event, on) {
  const fields = (name) =>
    event.split("\n").filter((l) => l.startsWith(name + ":")).map((l) => l.slice(name.length + 1).trim());
  const [name] = fields("event");
  if (name === "board" || name === "card") on[name](JSON.parse(fields("data").join("\n")));
}

function watchdog() {
  const controller = new AbortController();
  let timer;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => controller.abort(), SILENCE);
  };
  heard();
  return { signal: controller.signal, heard, stop: () => { clearTimeout(timer); controller.abort(); } };
}

/** Waits, but not longer than until the person looks again or the network is back. */
function wakeUpOr(pause) {
  return new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      window.removeEventListener("online", wake);
      document.removeEventListener("visibilitychange", wake);
      resolve();
    };
    const timer = setTimeout(wake, pause);
    window.addEventListener("online", wake);
    document.addEventListener("visibilitychange", wake);
  });
}

async function sentenceOf(response) {
  try {
    return (await response.json()).error;
  } catch {
    return `countersign refused this (${response.status}).`;
  }
}
