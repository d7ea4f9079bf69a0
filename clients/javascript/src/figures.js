import { checkAddress } from "./addresses.js";
import { checkAnswers, isBlank } from "./answers.js";
import { ASKER_FIELDS, askerFields, checkAsker } from "./asker.js";
import { fromHexadecimal, isHexadecimal } from "./bytes.js";
import { TaskError } from "./errors.js";
import { shown } from "./exact.js";
import { isPublicKey } from "./keys.js";

/** @typedef {{address: string, key: string}} Place a server: its address, and its public key as hexadecimal digits */

/** The versions of tasks: one with the field `series` or a field about who asks has the second one. */
const VERSION = 1;
export const SECOND_VERSION = 2;

/** The most rounds of a series: eleven years of days. */
export const MOST_ROUNDS = 4096;

/** In characters: far more than anybody reads before they answer. */
const LONGEST_QUESTION = 1000;

/** More than a hundred times as many as there are people, and sums over them stay exact in doubles. */
const MOST_USERS = 1e12;

/** A year in seconds: the time of a report then tells nothing about its sender. */
const LONGEST_PRECISION = 366 * 86_400;

/** Each makes every message 48 bytes longer; trust does not grow with more. */
const MOST_SHUFFLERS = 8;

/**
 * Refuses figures that are out of range, and servers that cannot be those of a task.
 * @param {any} plain a task in the form that it must have
 */
export async function checkFigures(plain) {
  checkVersion(plain);
  if (isBlank(plain.question) || Array.from(plain.question).length > LONGEST_QUESTION) {
    throw new TaskError("the question must have 1 to 1,000 characters");
  }
  checkAnswers(plain.answers);
  const { users, honest_users: honest } = plain;
  if (users < 2 || users > MOST_USERS || honest < 1 || honest > users) {
    throw new TaskError("users must be at least 2, and honest_users from 1 to users");
  }
  if (plain.most_messages < 1 || plain.most_messages >= 2 ** 32) {
    throw new TaskError("most_messages must be at least 1 and below 2^32");
  }
  if (plain.time_precision < 1 || plain.time_precision > LONGEST_PRECISION) {
    throw new TaskError("time_precision must be from one second to 366 days, in seconds");
  }
  await checkServers(plain.shufflers, plain.analyzer);
}

/** @param {any} plain */
function checkVersion(plain) {
  const { version, series } = plain;
  if (version !== VERSION && version !== SECOND_VERSION) {
    throw new TaskError(`version must be ${VERSION} or ${SECOND_VERSION}, got a task of version ${version}`);
  }
  const added = [...(series === undefined ? [] : ["series"]), ...askerFields(plain)];
  if (version === VERSION && added.length > 0) {
    throw new TaskError(`a task of version 1 has no field \`${added[0]}\`: a task with it has version 2`);
  }
  if (version === SECOND_VERSION && added.length === 0) {
    throw new TaskError(
      `a task of version 2 must have one of the fields series, ${ASKER_FIELDS.join(", ")}; without any it has version 1`,
    );
  }
  checkAsker(plain);
  if (series === undefined) return;
  if (!isHexadecimal(series.id)) {
    throw new TaskError("the id of a series must be 64 hexadecimal digits, in small letters");
  }
  if (series.round < 1 || series.round > MOST_ROUNDS) {
    throw new TaskError(`the round of a series must be from 1 to ${MOST_ROUNDS}, got ${series.round}`);
  }
}

/**
 * Refuses servers with wrong addresses or keys, or two with the same key.
 * @param {Place[]} shufflers
 * @param {Place} analyzer
 */
export async function checkServers(shufflers, analyzer) {
  if (shufflers.length < 1 || shufflers.length > MOST_SHUFFLERS) {
    throw new TaskError(`a task needs 1 to ${MOST_SHUFFLERS} shufflers, got ${shufflers.length}`);
  }
  for (const [at, place] of [...shufflers, analyzer].entries()) {
    const name = at < shufflers.length ? `shuffler ${at + 1}` : "the analyzer";
    checkAddress(place.address, name);
    if (!isHexadecimal(place.key)) {
      throw new TaskError(`the key of ${name} must be 64 hexadecimal digits, in small letters`);
    }
    if (!(await isPublicKey(fromHexadecimal(place.key)))) {
      throw new TaskError(`the key of ${name} is no public key: \`shuffledp keys new\` makes one`);
    }
  }
  if (new Set([...shufflers, analyzer].map((place) => place.key)).size !== shufflers.length + 1) {
    throw new TaskError("two servers of the task have the same key: its owner could undo the mixing");
  }
}

/**
 * Writes a time as tasks do.
 * @param {Date} time
 */
export function momentInText(time) {
  return time.toISOString().replace(".000Z", "Z");
}

/**
 * A time as tasks write it.
 * @param {string} text
 * @param {string} name
 * @returns {Date}
 */
export function readMoment(text, name) {
  const moment = new Date(/^[1-9][0-9]{3}-[0-9-]{5}T[0-9:]{8}Z$/.test(text) ? text : Number.NaN);
  if (Number.isNaN(moment.getTime()) || moment.toISOString() !== text.replace("Z", ".000Z")) {
    throw new TaskError(`${name} must be a time in UTC such as 2027-01-31T12:00:00Z; got ${shown(text)}`);
  }
  return moment;
}
