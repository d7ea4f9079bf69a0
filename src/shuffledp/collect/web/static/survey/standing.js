// How many answers are missing for a result, from the public status of the shuffler, while the page is visible.

/** Milliseconds between requests: a waiting visitor sees the result arrive, and a request costs a shuffler little. */
const EVERY = 3_000;

const words = /** @type {HTMLElement} */ (document.getElementById("standing-words"));
const bar = /** @type {HTMLProgressElement} */ (document.getElementById("standing-bar"));
/** @type {number | undefined} */
let batches;

/** @param {string} address of the task @param {() => void} closed is called when people can no longer answer */
export function follow(address, closed) {
  look(address, closed);
  setInterval(() => document.hidden || look(address, closed), EVERY);
}

/** @param {string} address @param {() => void} closed */
async function look(address, closed) {
  try {
    const answer = await fetch(`${address}/status`, { credentials: "omit", cache: "no-store" });
    if (!answer.ok) throw new Error();
    const standing = await answer.json();
    tell(standing);
    if (standing.short_by !== null) closed();
  } catch {
    words.textContent = "The server does not answer at the moment, so the number of missing answers is unknown.";
    bar.hidden = true;
  }
}

/** @param {{users: number, waiting: number, batches: number, short_by: number | null}} standing */
function tell({ users, waiting, batches: complete, short_by: shortBy }) {
  const whole = complete === 1 ? "1 group is complete" : `${number(complete)} groups are complete`;
  const so = complete ? ` So far ${whole}.` : "";
  if (shortBy !== null) {
    words.textContent = `The question is closed.${so}`;
    bar.hidden = true;
    return;
  }
  const missing = Math.max(0, users - waiting);
  const more = batches !== undefined && complete > batches;
  const now = more ? "A group has just become complete: look at the results. " : "";
  batches = complete;
  words.textContent =
    `${now}${number(waiting)} of ${number(users)} people have answered for the next result, ` +
    `${number(missing)} ${missing === 1 ? "is" : "are"} missing.${so}`;
  bar.max = users;
  bar.value = waiting;
  bar.hidden = false;
}

/** @param {number} count */
function number(count) {
  return count.toLocaleString("en");
}
