// Handing a report to the first shuffler, and what its answer means. Only 201 says that a report is taken: whatever
// answers for the server, such as a page to log in to a network, says something else.
import { ParameterError, RefusedError, RefusedTimeError, UnreachableError, noted } from "./errors.js";
import { isAdmission } from "./invitation.js";
import { REASONS } from "./reasons.js";
import { asked, fetched } from "./requests.js";
import { MOST_TASK_BYTES } from "./task.js";

/** @typedef {import("./task.js").Task} Task */

/** How many a server may take to answer, unless said otherwise: a megabyte over a slow connection takes as long. */
export const SECONDS = 30;

/** The only status that says that a report is taken. */
const CREATED = 201;

/** From here on a server is in trouble, and what it says is no refusal. */
const SERVER_ERROR = 500;

/** Where a report could not be handed over, and where a file could not be fetched. */
const SEND_AGAIN = ": nothing is lost, send it again later";
const TRY_AGAIN = ": try again later";

/** Bytes of a problem document, which has a few hundred. */
const MOST_ANSWER_BYTES = 2 ** 16;

/** Bytes of a list of answers that is kept elsewhere: a person's device holds it in memory. */
const MOST_LIST_BYTES = 2 ** 28;

/** @param {unknown} timeout */
export function checkTimeout(timeout) {
  if (typeof timeout !== "number" || !(timeout > 0 && timeout < Infinity)) {
    throw new ParameterError("timeout must be a positive number of seconds");
  }
  return timeout;
}

/**
 * What a person shows to be admitted; nothing where everybody is, since it could only tell who they are.
 * @param {Task} task
 * @param {unknown} admission
 * @returns {string | null}
 */
export function checkAdmission(task, admission) {
  if (task.admission === "anybody") return null;
  if (admission === undefined || admission === null) {
    throw new ParameterError(`the task takes a report only with ${wanted(task)}: give its text as admission`);
  }
  if (!isAdmission(admission)) {
    throw new ParameterError(
      `admission must be ${wanted(task)}: letters, digits and the characters . _ ~ + / - =, not empty or signs alone`,
    );
  }
  return admission;
}

/** @param {Task} task */
function wanted({ admission }) {
  return admission === "secret" ? "its secret" : "a one-time token";
}

/**
 * Hands over a report; returns when the shuffler has it durably.
 * @param {Task} task
 * @param {Uint8Array} report
 * @param {{admission: string | null, timeout: number}} how
 */
export async function post(task, report, { admission, timeout }) {
  const place = task.shufflers[0].address;
  /** @type {Record<string, string>} */
  const headers = { "Content-Type": "application/octet-stream" };
  if (admission !== null) headers.Authorization = `Bearer ${admission}`;
  const address = `${withoutSlash(place)}/v1/tasks/${task.name}/reports`;
  const request = { method: "POST", body: /** @type {Uint8Array<ArrayBuffer>} */ (report), headers };
  const asking = asked({ address, place, most: MOST_ANSWER_BYTES, timeout, request });
  const { status, content } = await advised(asking, SEND_AGAIN);
  judge(place, status, content);
}

/**
 * Fetches the list of answers of a task that keeps it elsewhere; the task checks its fingerprint.
 * @param {Task} task
 * @param {number} timeout
 */
export async function fetchAnswers(task, timeout) {
  if (task.hasAnswers || task.answers.kind !== "listed-at") return;
  const { address } = task.answers;
  await task.takeAnswers(await advised(fetched({ address, most: MOST_LIST_BYTES, timeout }), TRY_AGAIN));
}

/**
 * The bytes of a task at an address.
 * @param {URL} address
 * @param {number} timeout
 */
export async function fetchTask(address, timeout) {
  if (!["http:", "https:"].includes(address.protocol) || address.username || address.password) {
    throw new ParameterError("the address of a task must begin with http or https, without a user name or password");
  }
  return advised(fetched({ address: address.href, most: MOST_TASK_BYTES, timeout }), TRY_AGAIN);
}

/**
 * What is asked for, or an error that also says what helps.
 * @template Result
 * @param {Promise<Result>} asking
 * @param {string} advice
 */
async function advised(asking, advice) {
  try {
    return await asking;
  } catch (error) {
    throw noted(error, advice);
  }
}

/**
 * Returns if the report was taken; otherwise throws what the answer means, in our words and not in the server's.
 * @param {string} place
 * @param {number} status
 * @param {Uint8Array} content
 */
function judge(place, status, content) {
  if (status === CREATED) return;
  const { reason, serverTime } = reasonIn(content);
  if (reason === null || status >= SERVER_ERROR) {
    throw new UnreachableError(
      `${place} answered with ${status ? `status ${status}` : "a redirect"} and did not take the report${SEND_AGAIN}`,
      reason,
    );
  }
  const { again, meaning } = REASONS[reason];
  if (again === "yes") {
    const isTime = ["wrong-time", "not-yet-open"].includes(reason);
    if (isTime) throw new RefusedTimeError(later(place, meaning), reason, serverTime);
    throw new UnreachableError(later(place, meaning), reason);
  }
  throw new RefusedError(
    `${place} refused the report (${reason}): ${meaning}` +
      `${again === "no" ? "" : " The report is kept: send it again once that is put right"}`,
    reason,
  );
}

/** @param {string} place @param {string} meaning */
function later(place, meaning) {
  return `${place}: ${meaning} Nothing is lost, send it again later`;
}

/** The year 10000 in seconds since 1970: tasks end before it. */
const LAST_TIME = 253_402_300_800;

/**
 * The reason in a problem document (RFC 9457), if it is one that we know, and the server's time, if it is there.
 * @param {Uint8Array} content
 * @returns {{reason: string | null, serverTime: number | null}}
 */
function reasonIn(content) {
  try {
    const { reason, server_time: now } = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(content));
    const known = typeof reason === "string" && Object.hasOwn(REASONS, reason);
    const isTime = known && Number.isSafeInteger(now) && now >= 0 && now < LAST_TIME;
    return { reason: known ? reason : null, serverTime: isTime ? now : null };
  } catch {
    return { reason: null, serverTime: null };
  }
}

/** @param {string} address */
function withoutSlash(address) {
  return address.replace(/\/+$/, "");
}
