// Keeps a page of the console fresh: asks for the same page again and swaps the parts that have changed.
// Without it everything works, and is as old as the page.

/** Milliseconds between two looks: a person takes it for at once, and it costs an analyzer next to nothing. */
const EVERY = 2000;

/** Between looks at an analyzer that does not answer: it is not kept busy, and its return is seen soon. */
const LONGEST_PAUSE = 30000;

/** For an answer; a busy analyzer takes a second. */
const PATIENCE = 10000;

const news = /** @type {HTMLElement} */ (document.getElementById("news"));
const connection = /** @type {HTMLElement} */ (document.getElementById("connection"));

let known = ""; // the tag of the page that is shown
let answered = new Date();
let active = true; // whether somebody has done something since the last look
let pause = EVERY;
let timer = 0;
let looking = false;
let ended = false;

/** The parts of a page that change, by their names. @param {Document} page */
function partsOf(page) {
  const parts = /** @type {NodeListOf<HTMLElement>} */ (page.querySelectorAll("[data-live]"));
  return new Map([...parts].map((part) => [part.id, part]));
}

/**
 * Puts the newer part in the place of the older, unless somebody is at it; whether that was done.
 * @param {HTMLElement} older
 * @param {HTMLElement} newer
 */
function swap(older, newer) {
  if (older.contains(document.activeElement)) {
    return false;
  }
  const folds = [...older.querySelectorAll("details")].map((fold) => fold.open);
  const fresh = document.importNode(newer, true);
  [...fresh.querySelectorAll("details")].forEach((fold, at) => {
    fold.open = folds[at] ?? fold.open;
  });
  older.replaceWith(fresh);
  return true;
}

/** Shows what has changed; whether all of it is shown. @param {string} text of the page */
function show(text) {
  const page = new DOMParser().parseFromString(text, "text/html");
  const newer = partsOf(page);
  const said = [];
  let whole = true;
  for (const [name, older] of partsOf(document)) {
    const part = newer.get(name);
    if (!part || part.isEqualNode(older) || sameBut(part, older)) {
      continue;
    }
    const says = part.dataset.says;
    if (says && says !== older.dataset.says) {
      said.push(says);
    }
    whole = swap(older, part) && whole;
  }
  if (said.length) {
    news.textContent = said.join(" ");
  }
  return whole;
}

/**
 * Whether two parts differ only in what a reader has unfolded.
 * @param {HTMLElement} part
 * @param {HTMLElement} older
 */
function sameBut(part, older) {
  const folded = /** @type {HTMLElement} */ (older.cloneNode(true));
  const folds = [...part.querySelectorAll("details")].map((fold) => fold.open);
  [...folded.querySelectorAll("details")].forEach((fold, at) => {
    fold.open = folds[at] ?? false;
  });
  return part.isEqualNode(folded);
}

/**
 * Says that something is wrong, or that nothing is any longer.
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

/** Takes away what only whoever is signed in may see: nobody may be at the screen, or somebody else. */
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
    `The analyzer does not answer. What you see is from ${answered.toISOString().slice(11, 19)} UTC; it is asked again by itself.`,
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
  // not "scroll", which comes also where a part that grows moves what is below it
  for (const done of ["keydown", "pointerdown", "pointermove", "wheel", "touchmove"]) {
    addEventListener(done, () => (active = true), { passive: true });
  }
  document.addEventListener("visibilitychange", look);
  addEventListener("online", look);
  timer = setTimeout(look, EVERY);
}
