// Shows one state of the page. All sentences are in the page; this module fills in what only this device knows.

const main = /** @type {HTMLElement} */ (document.querySelector("main"));

/** States with something to answer or to send. */
const ASKING = ["starting", "new", "made", "not-admitted"];
const announcer = /** @type {HTMLElement} */ (document.getElementById("said"));

/**
 * Shows a state and what belongs to it, and tells a screen reader.
 * @param {string} state
 * @param {Record<string, string>} [filled] texts for its places
 * @param {{moves?: boolean, quietly?: boolean}} [how] whether to focus its title, and whether to stay silent
 */
export function show(state, filled = {}, { moves = false, quietly = false } = {}) {
  main.dataset.shows = state;
  for (const part of parts("[data-state]")) part.hidden = part.dataset.state !== state;
  for (const part of parts("[data-shown]")) part.hidden = !String(part.dataset.shown).split(" ").includes(state);
  for (const part of parts("[data-unless]")) part.hidden = String(part.dataset.unless).split(" ").includes(state);
  for (const [name, text] of Object.entries(filled)) {
    for (const place of parts(`[data-state="${state}"] [data-fill="${name}"]`)) place.textContent = text;
  }
  place(ASKING.includes(state));
  const title = parts("[data-state] h2, [data-shown] h2").find((each) => !each.closest("[hidden]"));
  if (quietly || !title) return;
  announcer.textContent = String(title.textContent);
  if (moves) title.focus();
}

/**
 * Puts the number of missing answers first if there is nothing to answer, and last otherwise.
 * @param {boolean} asking
 */
function place(asking) {
  const standing = /** @type {HTMLElement} */ (document.getElementById("standing"));
  const next = main.querySelector(asking ? "footer" : "#promise");
  if (standing.nextElementSibling !== next) main.insertBefore(standing, next);
}

/** @param {string} selector @returns {HTMLElement[]} */
function parts(selector) {
  return [...main.querySelectorAll(selector)].map((part) => /** @type {HTMLElement} */ (part));
}
