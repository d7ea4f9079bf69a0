// Shows one state of the page. All sentences are in the page; this module fills in what only this device knows.

const main = /** @type {HTMLElement} */ (document.querySelector("main"));

/** States with something to answer or to send. */
const ASKING = ["starting", "new", "made", "not-admitted", "needs-token"];

/** Whether a state was shown that the visitor may have read: until then the focus stays at the start of the page. */
let read = false;

const announcer = /** @type {HTMLElement} */ (document.getElementById("said"));

/**
 * Shows a state and what belongs to it, and tells a screen reader.
 * @param {string} state
 * @param {Record<string, string>} [filled] texts for its places
 * @param {{moves?: boolean, quietly?: boolean}} [how] whether to focus its title, and whether to stay silent
 */
export function show(state, filled = {}, { moves = false, quietly = false } = {}) {
  main.dataset.shows = state;
  const first = !read;
  read ||= state !== "starting";
  for (const part of parts("[data-state]")) part.hidden = part.dataset.state !== state;
  for (const part of parts("[data-shown]")) part.hidden = !String(part.dataset.shown).split(" ").includes(state);
  for (const part of parts("[data-unless]")) part.hidden = String(part.dataset.unless).split(" ").includes(state);
  for (const [name, text] of Object.entries(filled)) {
    for (const place of parts(`[data-state="${state}"] [data-fill="${name}"]`)) place.textContent = text;
  }
  place(ASKING.includes(state));
  enable(ASKING.includes(state) && state !== "starting");
  const title = parts("[data-state] h2, [data-shown] h2").find((each) => !each.closest("[hidden]"));
  if (quietly || !title) return;
  announcer.textContent = String(title.textContent);
  if (moves && !first) title.focus();
}

/** Lets the visitor fill in the form, or not. @param {boolean} ready */
function enable(ready) {
  for (const part of parts("#answers, #send")) /** @type {HTMLButtonElement} */ (part).disabled = !ready;
}

/**
 * Puts the number of missing answers first if there is nothing to answer, and last otherwise.
 * @param {boolean} asking
 */
function place(asking) {
  const standing = /** @type {HTMLElement} */ (document.getElementById("standing"));
  const next = main.querySelector(asking ? ".folds" : "#promise");
  if (standing.nextElementSibling !== next) main.insertBefore(standing, next);
}

/** @param {string} selector @returns {HTMLElement[]} */
function parts(selector) {
  return [...main.querySelectorAll(selector)].map((part) => /** @type {HTMLElement} */ (part));
}
