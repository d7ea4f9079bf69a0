// Notes at a field change when people stop typing, so that a screen reader does not read every key.

/** Milliseconds without a key press. */
const PAUSE = 250;

/**
 * Writes the note of a field after a pause, and after a reset; returns a function that writes it at once.
 * @template T
 * @param {HTMLInputElement} input
 * @param {HTMLFormElement} form
 * @param {() => T} tell
 */
export function afterPause(input, form, tell) {
  let timer = 0;
  const now = () => {
    clearTimeout(timer);
    return tell();
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(tell, PAUSE);
  });
  form.addEventListener("reset", () => setTimeout(now));
  return now;
}
