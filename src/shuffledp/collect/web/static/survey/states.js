// Which part of the page is shown. All words are in the page already; only what this device knows is filled in.

const main = /** @type {HTMLElement} */ (document.querySelector("main"));

/** States in which there is something to answer or to send. */
const ASKING = ["starting", "new", "made", "not-admitted"];
const said = /** @type {HTMLElement} */ (document.getElementById("said"));

/**
 * Shows a state and what belongs to it, and tells a screen reader.
 * @param {string} state
 * @param {Record<string, string>} [filled] what goes into its places
 * @param {{moves?: boolean, quietly?: boolean}} [how] whether the focus goes to its title, and whether nothing is said
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
  said.textContent = String(title.textContent);
  if (moves) title.focus();
}

/**
 * Whoever has nothing to answer wants to know first how many are missing; whoever does, at the end.
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
