// How many answers are missing for a result, from the public status of the shuffler, while the page is visible.
import { t } from "./words.js";

/** Milliseconds between requests: a waiting visitor sees the result arrive, and a request costs a shuffler little. */
const EVERY = 3_000;

/** Milliseconds within which the server answers, or does not. */
const PATIENCE = 5_000;

/** @param {string} address */
const fresh = (address) =>
  fetch(address, { credentials: "omit", cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });

const words = /** @type {HTMLElement} */ (document.getElementById("standing-words"));
const bar = /** @type {HTMLProgressElement} */ (document.getElementById("standing-bar"));
/** @type {number | undefined} */
let batches;

/** The number of requests: an answer to an earlier one than the last says nothing new. */
let asked = 0;

/**
 * Follows a task, and returns a function that asks at once, for whether people can still answer; null if nobody knows.
 * @param {string} address of the task
 * @param {() => void} closed is called when people can no longer answer
 */
export function follow(address, closed) {
  const look = () => lookAt(address, closed);
  look();
  setInterval(() => document.hidden || look(), EVERY);
  return look;
}

/**
 * The time of the server in milliseconds; null if it does not say. The clock of a device may be wrong by days.
 * @returns {Promise<number | null>}
 */
export async function serverTime() {
  try {
    const answer = await fresh("/page/time");
    return answer.ok ? 1000 * Number(await answer.text()) || null : null;
  } catch {
    return null;
  }
}

/** @param {string} address @param {() => void} closed */
async function lookAt(address, closed) {
  const own = ++asked;
  try {
    const answer = await fresh(`${address}/status`);
    if (!answer.ok) throw new Error();
    const standing = await answer.json();
    if (own === asked) tell(standing);
    if (isClosed(standing)) closed();
    return !isClosed(standing);
  } catch {
    if (own === asked) {
      words.textContent = t("standing_unknown");
      bar.hidden = true;
    }
    return null;
  }
}

/**
 * What a shuffler says in public about a task.
 * @typedef {{users: number, waiting: number, batches: number, short_by: number | null, closed?: boolean}} Standing
 */

/** Whether people can no longer answer, also because the task was closed early. @param {Standing} standing */
function isClosed({ closed, short_by: shortBy }) {
  return closed === true || shortBy !== null;
}

/** @param {Standing} standing */
function tell(standing) {
  const { users, waiting, batches: complete } = standing;
  const so = complete ? ` ${t("complete", { number: complete })}` : "";
  if (isClosed(standing)) {
    words.textContent = t("is_closed") + so;
    bar.hidden = true;
    return;
  }
  const missing = Math.max(0, users - waiting);
  const more = batches !== undefined && complete > batches;
  const now = more ? `${t("just_complete")} ` : "";
  batches = complete;
  words.textContent = `${now}${t("standing", { users, number: waiting })} ${t("are_missing", { number: missing })}${so}`;
  bar.max = users;
  bar.value = waiting;
  bar.hidden = false;
}
