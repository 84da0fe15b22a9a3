// A sound for a new request, made here: two notes, lower ones for a critical request.

const NOTES = { open: [660, 880], critical: [440, 330] };
let audio = null;

/** Browsers let a page sound only after a press on it. */
export function allowSound() {
  audio ??= new AudioContext();
  if (audio.state === "suspended") audio.resume().catch(() => {});
}

/** Plays it, if the page may. */
export function playSound(tone) {
  if (audio?.state !== "running") return;
  (NOTES[tone] ?? NOTES.open).forEach((pitch, at) => note(pitch, audio.currentTime + at * 0.16));
}

function note(pitch, start) {
  const [tone, loudness] = [audio.createOscillator(), audio.createGain()];
  tone.frequency.value = pitch;
  loudness.gain.setValueAtTime(0.12, start);
  loudness.gain.exponentialRampToValueAtTime(0.001, start + 0.15);
  tone.connect(loudness).connect(audio.destination);
  tone.start(start);
  tone.stop(start + 0.16);
}
