// Handing a report to the first shuffler, and what its answer means. Only 201 says that a report is taken: whatever
// answers for the server, such as a page to log in to a network, says something else.
import { ParameterError, RefusedError, UnreachableError, noted } from "./errors.js";
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

/** What can stand in the header (RFC 6750). */
const TOKEN = /^[A-Za-z0-9._~+/-]{1,1000}=*$/;

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
    const wanted = task.admission === "secret" ? "its secret" : "a one-time token";
    throw new ParameterError(`the task takes a report only with ${wanted}: give its text as admission`);
  }
  if (typeof admission !== "string" || !TOKEN.test(admission)) {
    throw new ParameterError("admission must be text of letters, digits and the characters . _ ~ + / - =");
  }
  return admission;
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
  const reason = reasonIn(content);
  if (reason === null || status >= SERVER_ERROR) {
    const said = status ? `with status ${status}` : "with a redirect";
    throw new UnreachableError(`${place} answered ${said} and did not take the report${SEND_AGAIN}`, reason);
  }
  const { again, meaning } = REASONS[reason];
  if (again === "yes") {
    throw new UnreachableError(`${place}: ${meaning} Nothing is lost, send it again later`, reason);
  }
  const kept = again === "no" ? "" : " The report is kept: send it again once that is put right";
  throw new RefusedError(`${place} refused the report (${reason}): ${meaning}${kept}`, reason);
}

/**
 * The reason in a problem document (RFC 9457), if it is one that we know.
 * @param {Uint8Array} content
 * @returns {string | null}
 */
function reasonIn(content) {
  try {
    const { reason } = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(content));
    return typeof reason === "string" && Object.hasOwn(REASONS, reason) ? reason : null;
  } catch {
    return null;
  }
}

/** @param {string} address */
function withoutSlash(address) {
  return address.replace(/\/+$/, "");
}
