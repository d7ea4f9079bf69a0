// Refreshes a page of the console: requests the same page again and replaces the parts that have changed.
// Without it everything works, but does not refresh.

/** Milliseconds between two requests: it feels immediate, and costs an analyzer little. */
const EVERY = 2000;

/** Longest pause if the analyzer does not answer: it is not kept busy, and its return is noticed soon. */
const LONGEST_PAUSE = 30000;

/** Timeout of an answer; a busy analyzer takes a second. */
const PATIENCE = 10000;

const news = /** @type {HTMLElement} */ (document.getElementById("news"));
const connection = /** @type {HTMLElement} */ (document.getElementById("connection"));

let known = ""; // the entity tag of the shown page
let answered = new Date();
let active = true; // whether there was activity since the last request
let pause = EVERY;
let timer = 0;
let looking = false;
let ended = false;

/** The live parts of a page, by id. @param {Document} page */
function partsOf(page) {
  const parts = /** @type {NodeListOf<HTMLElement>} */ (page.querySelectorAll("[data-live]"));
  return new Map([...parts].map((part) => [part.id, part]));
}

/**
 * Opens and closes the folds of a part as they are in another one; returns the part.
 * @param {HTMLElement} part
 * @param {HTMLElement} other
 */
function foldedLike(part, other) {
  const folds = [...other.querySelectorAll("details")];
  [...part.querySelectorAll("details")].forEach((fold, at) => {
    fold.open = folds[at]?.open ?? fold.open;
  });
  return part;
}

/**
 * Replaces a part by a newer one unless it has the focus; returns whether it did.
 * @param {HTMLElement} older
 * @param {HTMLElement} newer
 */
function swap(older, newer) {
  if (older.contains(document.activeElement)) {
    return false;
  }
  older.replaceWith(foldedLike(document.importNode(newer, true), older));
  return true;
}

/** Shows what has changed, except open folds; returns whether all of it is shown. @param {string} text of the page */
function show(text) {
  const page = new DOMParser().parseFromString(text, "text/html");
  const newer = partsOf(page);
  const announced = [];
  let whole = true;
  for (const [name, older] of partsOf(document)) {
    const part = newer.get(name);
    if (!part || part.isEqualNode(foldedLike(/** @type {HTMLElement} */ (older.cloneNode(true)), part))) {
      continue;
    }
    const says = part.dataset.says;
    if (says && says !== older.dataset.says) {
      announced.push(says);
    }
    whole = swap(older, part) && whole;
  }
  if (announced.length) {
    news.textContent = announced.join(" ");
  }
  return whole;
}

/**
 * Shows a problem, or hides the banner if the text is empty.
 * @param {string} words
 * @param {string} [link] the words of a link to this page
 */
function tell(words, link) {
  connection.replaceChildren(words);
  if (link) {
    const here = document.createElement("a");
    here.href = location.href;
    here.textContent = link;
    connection.append(" ", here);
  }
  connection.hidden = !words;
}

/** Removes what only a signed-in operator may see: someone else may be at the screen. */
function leave() {
  ended = true;
  for (const part of partsOf(document).values()) {
    part.remove();
  }
  news.textContent = "";
  tell("Your session has ended.", "Sign in again");
}

function fails() {
  tell(
    `The analyzer does not answer. What you see is from ${answered.toISOString().slice(11, 19)} UTC. This page retries automatically.`,
  );
  pause = Math.min(2 * pause, LONGEST_PAUSE);
}

async function ask() {
  /** @type {Record<string, string>} */
  const headers = { "x-console": active ? "active" : "watching", accept: "text/html" };
  active = false;
  if (known) {
    headers["if-none-match"] = known;
  }
  const answer = await fetch(location.href, { headers, cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
  if (answer.status === 403) {
    leave();
    return;
  }
  if (answer.status !== 304 && !answer.ok) {
    fails();
    return;
  }
  if (answer.status !== 304) {
    const text = await answer.text();
    known = show(text) ? (answer.headers.get("etag") ?? "") : "";
  }
  answered = new Date();
  pause = EVERY;
  if (!connection.hidden) {
    tell("");
  }
}

async function look() {
  if (looking || ended || document.hidden) {
    return;
  }
  looking = true;
  clearTimeout(timer);
  try {
    await ask();
  } catch {
    fails();
  }
  looking = false;
  if (!ended) {
    timer = setTimeout(look, pause);
  }
}

if (document.querySelector("[data-live]")) {
  // not "scroll", which also fires when a growing part moves what is below it
  for (const done of ["keydown", "pointerdown", "pointermove", "wheel", "touchmove"]) {
    addEventListener(done, () => (active = true), { passive: true });
  }
  document.addEventListener("visibilitychange", look);
  addEventListener("online", look);
  timer = setTimeout(look, EVERY);
}
