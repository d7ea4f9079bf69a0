// Requests that say nothing about the client beyond what every request of its browser says: no cookies, no
// referrer, no language, and no redirects.
import { joined } from "./bytes.js";
import { UnreachableError } from "./errors.js";

/** The one status with which a file comes whole. */
const OK = 200;

/** Milliseconds that a timer can count: a longer pause would be none. */
const LONGEST = 2 ** 31 - 1;

/**
 * One request.
 * @typedef {object} Asked
 * @property {string} address
 * @property {string} [place] what is named in errors, the address unless given
 * @property {number} most bytes of the answer
 * @property {number} timeout seconds
 * @property {RequestInit & {headers: Record<string, string>}} request
 */

/**
 * A public file of at most so many bytes.
 * @param {{address: string, most: number, timeout: number}} file
 */
export async function fetched({ address, most, timeout }) {
  const { status, content } = await asked({ address, most, timeout, request: { method: "GET", headers: {} } });
  if (status === OK) return content;
  throw new UnreachableError(
    `${address} answered with ${status ? `status ${status}` : "a redirect, which is not followed"}`,
  );
}

/**
 * One request and its whole answer, which may neither be endless nor take forever; whatever goes wrong on the way is no
 * refusal, and is said without advice, which depends on what was asked. A redirect has its status in Node and 0 in a
 * browser.
 * @param {Asked} what
 */
export async function asked({ address, place = address, most, timeout, request }) {
  try {
    const signal = AbortSignal.timeout(Math.min(Math.ceil(timeout * 1000), LONGEST));
    const answer = await fetch(address, {
      ...request,
      headers: { ...request.headers, ...sameForEverybody() },
      credentials: "omit",
      redirect: "manual",
      cache: "no-store",
      referrerPolicy: "no-referrer",
      signal,
    });
    const content = await whole(answer, most);
    if (content !== null) return { status: answer.status, content };
  } catch (error) {
    if (!(error instanceof Error || error instanceof DOMException)) throw error;
    if (error.name === "TimeoutError") throw new UnreachableError(`${place} did not answer in time`);
    throw new UnreachableError(`${place} cannot be reached, the connection failed`);
  }
  throw new UnreachableError(`${place} gave an answer that is longer than ${most} bytes`);
}

/**
 * Headers that would otherwise tell a person's language and, in Node, the program. Browsers keep their own name.
 * @returns {Record<string, string>}
 */
function sameForEverybody() {
  return { "Accept-Language": "*", ...(inNode() ? { "User-Agent": "shuffledp" } : {}) };
}

/** Whether this is Node and no browser, nor a program that shows pages with both. */
export function inNode() {
  const { process } = /** @type {{process?: {versions?: {node?: string}}}} */ (globalThis);
  return process?.versions?.node !== undefined && !("indexedDB" in globalThis);
}

/**
 * The content of an answer; null if it is longer than it may be.
 * @param {Response} answer
 * @param {number} most
 */
async function whole(answer, most) {
  const parts = [];
  let size = 0;
  if (answer.body !== null) {
    const reader = answer.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > most) {
        await reader.cancel();
        return null;
      }
      parts.push(value);
    }
  }
  return joined(parts);
}
