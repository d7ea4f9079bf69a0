// The servers' side, for test vectors only: what shufflers and the analyzer find in reports and batches.
import { fromHexadecimal, toHexadecimal } from "../src/bytes.js";
import { SUITE, infoOf } from "../src/envelope.js";
import { REPORT_HEAD_BYTES, SEALING_BYTES } from "../src/task.js";

const KEY_BYTES = 32;
const ID_BYTES = 16;
const MAGIC = new TextEncoder().encode("shuffledp batch 1\n");
const BATCH_HEAD_BYTES = MAGIC.length + 32 + 16 + 1 + 8;

/** The private key of hexadecimal digits. */
export async function privateKey(digits) {
  return await SUITE.DeserializePrivateKey(fromHexadecimal(digits), true);
}

/** What is inside a sealed text, or null if it is not for this key, this task and this position. */
export async function unseal(task, sealed, key, position) {
  try {
    const [secret, ciphertext] = [sealed.slice(0, KEY_BYTES), sealed.slice(KEY_BYTES)];
    return await SUITE.Open(key, secret, ciphertext, { info: infoOf(task, position) });
  } catch {
    return null;
  }
}

/** Parts of the same length. */
export function split(bytes, width) {
  return Array.from({ length: bytes.length / width }, (_, at) => bytes.slice(at * width, (at + 1) * width));
}

/** The number that bytes are, the largest first. */
export function number(bytes) {
  return Number(whole(bytes));
}

/** The same where it may be larger than 2^53. */
function whole(bytes) {
  return bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
}

/** A report as the first shuffler finds it, or the reason for which it refuses it. */
export async function openReport(task, sealed, key) {
  const each = task.onionLength(0);
  if (sealed.length > task.longestReport) {
    const whole = (sealed.length - SEALING_BYTES - REPORT_HEAD_BYTES) % each === 0;
    return { reason: whole ? "too-many-messages" : "too-large" };
  }
  const inside = await unseal(task, sealed, key, 0);
  if (inside === null) return { reason: "cannot-be-opened" };
  const onions = split(inside.slice(REPORT_HEAD_BYTES), each);
  const time = number(inside.slice(ID_BYTES, REPORT_HEAD_BYTES));
  const whole = inside.length >= REPORT_HEAD_BYTES && (inside.length - REPORT_HEAD_BYTES) % each === 0;
  const right = task.padded ? onions.length === task.mostMessages : onions.length > 0;
  if (!whole || !right || time % task.timePrecision !== 0) return { reason: "malformed" };
  return { reportId: toHexadecimal(inside.slice(0, ID_BYTES)), time, inside, onions };
}

/** The onions that can be opened, without their layer, by all hops from a position on; what was refused on the way. */
export async function throughHops(task, onions, keys, position) {
  const refused = { repeated: 0, "cannot-be-opened": 0 };
  for (let at = position; at <= task.shufflers.length; at++) {
    const different = [...new Map(onions.map((onion) => [toHexadecimal(onion), onion])).values()];
    refused.repeated += onions.length - different.length;
    const opened = await Promise.all(different.map((onion) => unseal(task, onion, keys[at], at)));
    onions = opened.filter((onion) => onion !== null);
    refused["cannot-be-opened"] += different.length - onions.length;
  }
  return { messages: onions.map(whole), refused };
}

/** The head of a batch, and its onions. */
export function readBatch(task, bytes) {
  const fields = { magic: MAGIC.length, taskId: 32, batchId: 16, position: 1, number: 8 };
  const found = {};
  let at = 0;
  for (const [name, length] of Object.entries(fields)) found[name] = bytes.slice(at, (at += length));
  const position = number(found.position);
  return {
    magic: new TextDecoder().decode(found.magic),
    taskId: toHexadecimal(found.taskId),
    batchId: toHexadecimal(found.batchId),
    position,
    number: number(found.number),
    onions: split(bytes.slice(BATCH_HEAD_BYTES), task.onionLength(position)),
  };
}
