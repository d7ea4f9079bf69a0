import { AEAD_AES_128_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_DHKEM_X25519_HKDF_SHA256 } from "../vendor/hpke.js";
import { bigEndian, fromHexadecimal, joined } from "./bytes.js";
import { ParameterError } from "./errors.js";
import { REPORT_HEAD_BYTES, REPORT_ID_BYTES, REPORT_TIME_BYTES } from "./task.js";

/** @typedef {import("./task.js").Task} Task */
/** @typedef {import("./task.js").Message} Message */

/** Onions that are sealed at once: WebCrypto works on several, and memory stays small. */
const AT_ONCE = 64;

/** HPKE (RFC 9180), base mode, as the wire format says. */
export const SUITE = new CipherSuite(KEM_DHKEM_X25519_HKDF_SHA256, KDF_HKDF_SHA256, AEAD_AES_128_GCM);

/** Keys of all hops of a task, in their order, imported once. @type {WeakMap<Task, Promise<CryptoKey[]>>} */
const KEYS = new WeakMap();

/**
 * What a layer is bound to: the version, the task, and the place in the chain of the server that opens it.
 * @param {Task} task
 * @param {number} position
 */
export function infoOf(task, position) {
  return joined([new TextEncoder().encode("shuffledp collection 1"), task.id, Uint8Array.of(position)]);
}

/**
 * @param {Task} task
 * @returns {Promise<CryptoKey[]>}
 */
function keysOf(task) {
  let keys = KEYS.get(task);
  if (keys === undefined) {
    const hops = [...task.shufflers, task.analyzer];
    keys = Promise.all(hops.map((place) => SUITE.DeserializePublicKey(fromHexadecimal(place.key))));
    KEYS.set(task, keys);
  }
  return keys;
}

/**
 * @param {Task} task
 * @param {Uint8Array} text
 * @param {number} position
 */
async function seal(task, text, position) {
  const keys = await keysOf(task);
  const info = infoOf(task, position);
  const { encapsulatedSecret, ciphertext } = await SUITE.Seal(keys[position], text, { info });
  return joined([encapsulatedSecret, ciphertext]);
}

/**
 * One message in its layers: for the analyzer inmost, then for every shuffler but the first, to which the whole report
 * is sealed.
 * @param {Task} task
 * @param {Message} message
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
async function sealOnion(task, message) {
  let onion = bigEndian(message, task.symbolBytes);
  for (let position = task.shufflers.length; position > 0; position--) onion = await seal(task, onion, position);
  return onion;
}

/**
 * The bytes that a person sends; the messages stay in the given order.
 * @param {Task} task
 * @param {Message[]} messages
 * @param {{reportId: Uint8Array, time: number}} about the time in seconds since 1970, in the task's steps
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function sealReport(task, messages, { reportId, time }) {
  const [report] = await sealVersions(task, messages, { reportId, times: [time] });
  return report;
}

/**
 * One report with each of these times: the same id and the same onions, so that a server counts at most one.
 * @param {Task} task
 * @param {Message[]} messages
 * @param {{reportId: Uint8Array, times: number[]}} about
 * @returns {Promise<Uint8Array<ArrayBuffer>[]>}
 */
export async function sealVersions(task, messages, { reportId, times }) {
  const isStep = (/** @type {number} */ time) => Number.isSafeInteger(time) && time >= 0 && time % task.timePrecision === 0;
  if (reportId.length !== REPORT_ID_BYTES || !times.every(isStep)) {
    throw new ParameterError(
      `a report needs an id of ${REPORT_ID_BYTES} bytes, and a time that is a multiple of the task's precision`,
    );
  }
  const fewest = task.padded ? task.mostMessages : 1;
  if (messages.length < fewest || messages.length > task.mostMessages) {
    throw new ParameterError(`a report holds ${fewest} to ${task.mostMessages} messages, got ${messages.length}`);
  }
  const isWhole = (/** @type {Message} */ message) => typeof message === "bigint" || Number.isSafeInteger(message);
  if (!messages.every((message) => isWhole(message) && message >= 0 && message < task.symbols)) {
    throw new ParameterError(`messages are whole numbers from 0 to ${BigInt(task.symbols) - 1n}`);
  }
  const inside = new Uint8Array(REPORT_HEAD_BYTES + messages.length * task.onionLength(0));
  inside.set(reportId);
  for (let start = 0; start < messages.length; start += AT_ONCE) {
    const onions = await Promise.all(
      messages.slice(start, start + AT_ONCE).map((message) => sealOnion(task, message)),
    );
    inside.set(joined(onions), REPORT_HEAD_BYTES + start * task.onionLength(0));
  }
  const sealed = [];
  for (const time of times) {
    inside.set(bigEndian(time, REPORT_TIME_BYTES), REPORT_ID_BYTES);
    sealed.push(await seal(task, inside, 0));
  }
  return sealed;
}
