import { OTHER, Places, readList, sizeOf } from "./answers.js";
import { askerOf } from "./asker.js";
import { sha256, toHexadecimal } from "./bytes.js";
import { canonicalBytes } from "./canonical.js";
import { DataError, ParameterError, TaskError } from "./errors.js";
import { checkFigures, readMoment } from "./figures.js";
import { readGuarantee } from "./guarantee.js";
import { kinds } from "./kinds.js";
import { PROTOCOLS, readLaw } from "./parameters.js";
import { checkForm } from "./schema.js";
import { parseStrictly } from "./strict_json.js";
import { writtenAs } from "./texts.js";

/** @typedef {import("./figures.js").Place} Place */
/** @typedef {import("./choices.js").ChoicePlaces} ChoicePlaces */
/** @typedef {import("./numbers.js").NumberPlaces} NumberPlaces */
/** @typedef {number | bigint} Message a bigint in tasks with hashed messages, which may be larger than 2^53 */
/** @typedef {"not-listed" | "not-a-number" | import("./text_code.js").WhyOther} WhyOther why an answer is (other) */
/** @typedef {number | number[] | bigint[]} Values of one person: a place, places, nodes, or those of a text */

/** What HPKE adds to a text: the sender's public key, and the tag of AES-GCM. */
export const SEALING_BYTES = 48;

/** What a report has before its messages: its id and its time. */
export const REPORT_ID_BYTES = 16;
export const REPORT_TIME_BYTES = 8;
export const REPORT_HEAD_BYTES = REPORT_ID_BYTES + REPORT_TIME_BYTES;

/** Bytes of a report with as many messages as may be: people must be able to make it. */
const LONGEST_REPORT = 2 ** 28;

/** Bytes of a task file, which a client holds in memory. */
export const MOST_TASK_BYTES = 64 * 2 ** 20;

/** A question, who may answer what, the noise, and the servers with their keys. `readTask` makes them. */
export class Task {
  /** @type {Places | NumberPlaces | null} */
  #places = null;

  /**
   * @param {any} plain what the file holds, in the form that it must have
   * @param {Uint8Array<ArrayBuffer>} canonical
   * @param {Uint8Array<ArrayBuffer>} id
   */
  constructor(plain, canonical, id) {
    this.canonical = canonical;
    /** The SHA-256 of the canonical bytes. */
    this.id = id;
    /** The id in hexadecimal digits. */
    this.name = toHexadecimal(id);
    /** @type {number} */
    this.version = plain.version;
    /** The series that the task is a round of, by its id, and the number of the round; null for a single task. */
    this.series = plain.series === undefined ? null : Object.freeze({ id: plain.series.id, round: plain.series.round });
    /** @type {string} */
    this.question = plain.question;
    const { asker, purpose, contact, language } = askerOf(plain);
    /** Who asks, as the task says, and what for; null where it does not say. */
    this.asker = asker;
    this.purpose = purpose;
    /** A mail address, or an address with https. */
    this.contact = contact;
    /** The language of the question: a tag of BCP 47. */
    this.language = language;
    /** @type {import("./answers.js").Answers} */
    this.answers = plain.answers;
    /** @type {{name: string, parameters: Record<string, any>}} */
    this.protocol = plain.protocol;
    /** What is claimed, as people state it: decimal numbers in text. @type {{epsilon: string, delta: string}} */
    this.claim = plain.guarantee;
    /** What is claimed; promise.js computes whether it is true. */
    this.guarantee = readGuarantee(plain.guarantee);
    /** Reports in a batch. @type {number} */
    this.users = plain.users;
    /** How many of them are counted on for the noise. @type {number} */
    this.honestUsers = plain.honest_users;
    /** @type {number} */
    this.mostMessages = plain.most_messages;
    this.opens = readMoment(plain.opens, "opens");
    this.closes = readMoment(plain.closes, "closes");
    /** Steps of a report's time, in seconds. @type {number} */
    this.timePrecision = plain.time_precision;
    /** @type {"anybody" | "secret" | "tokens"} */
    this.admission = plain.admission;
    /** @type {Place[]} */
    this.shufflers = plain.shufflers;
    /** @type {Place} */
    this.analyzer = plain.analyzer;
    /** The noise, exactly. */
    this.law = readLaw(this.protocol.name, this.protocol.parameters, this.answers.kind);
    /** The code that cuts texts into pieces; null for other answers. */
    this.code = this.answers.kind === "text" ? new kinds.TextCode(this.answers) : null;
    this.#places = this.#placesInFile();
    /** The edges between intervals of numbers; null for other answers. */
    this.edges = this.#numbers?.edges ?? null;
    /** The tree over these intervals; null for other answers. */
    this.tree = this.#numbers?.tree ?? null;
    /** The number of values of one person: one on each level of a text or of a tree, the most choices, or 1. */
    this.levels = this.code?.levels ?? this.tree?.levels ?? this.#choices?.most ?? 1;
    /** The hash functions; null where messages are not hashed. */
    this.family = this.#hashFamily();
  }

  /** The places of answers that are in the task itself. */
  #placesInFile() {
    const { answers, law } = this;
    if (answers.kind === "list") return new Places(answers.values);
    if (answers.kind === "range") return new Places(answers);
    if (answers.kind === "choices") return new kinds.ChoicePlaces(answers);
    if (answers.kind !== "numbers") return null;
    return new kinds.NumberPlaces(answers, /** @type {{branching: number}} */ (law).branching);
  }

  get #choices() {
    return this.answers.kind === "choices" ? /** @type {ChoicePlaces} */ (this.#places) : null;
  }

  get #numbers() {
    return this.answers.kind === "numbers" ? /** @type {NumberPlaces} */ (this.#places) : null;
  }

  #hashFamily() {
    if (this.law.kind === "hashed") {
      const [modulus, pieces] = [this.law.buckets, this.code?.symbols];
      return new kinds.HashFamily({ modulus, values: BigInt(this.values), pieces, levels: this.levels });
    }
    return null;
  }

  /**
   * The number of values that messages are made of: the answers of the task, (other) and (none). Of texts, the values
   * of each level; of numbers, the nodes of the tree; of choices, also the padding bins.
   */
  get values() {
    const { answers } = this;
    if (answers.kind === "text") return Number(this.code?.values); // exact: at most 2^14 times 2^48
    if (answers.kind === "numbers") return Number(this.tree?.nodes);
    return answers.kind === "choices" ? Number(this.#choices?.size) : sizeOf(answers) + 2;
  }

  /** Kinds of messages of each value: with two of them 2j is one for the value j, and 2j + 1 one less for it. */
  get #kinds() {
    return PROTOCOLS[this.protocol.name].kinds;
  }

  /** How many different messages there are. @returns {Message} */
  get alphabet() {
    return this.family === null ? this.values * this.#kinds : this.family.messages;
  }

  /** Whether every report holds exactly `mostMessages`, so that its length tells nothing. */
  get padded() {
    return PROTOCOLS[this.protocol.name].padded;
  }

  /** The number of a message that counts for nothing, in padded reports. */
  get nothing() {
    return this.alphabet;
  }

  /** How many different numbers messages can be, the one that counts for nothing included where there is one. */
  get symbols() {
    return this.padded ? Number(this.alphabet) + 1 : this.alphabet;
  }

  /** The width of a message. */
  get symbolBytes() {
    return Math.max(1, Math.ceil((BigInt(this.symbols) - 1n).toString(16).length / 2));
  }

  /**
   * Bytes of an onion as the server at this position opens it; at 0 as the first shuffler finds it in a report.
   * @param {number} position
   */
  onionLength(position) {
    return this.symbolBytes + SEALING_BYTES * (this.shufflers.length + 1 - Math.max(1, position));
  }

  /** Bytes of the longest sealed report. */
  get longestReport() {
    return SEALING_BYTES + REPORT_HEAD_BYTES + this.mostMessages * this.onionLength(0);
  }

  /** Whether the list of answers is here: in the task itself, or given with `takeAnswers`. */
  get hasAnswers() {
    return this.#places !== null || this.code !== null;
  }

  /**
   * Takes the file that the list of answers is kept in, if it has the right fingerprint.
   * @param {Uint8Array} content
   * @returns {Promise<void>}
   */
  async takeAnswers(content) {
    if (this.answers.kind === "listed-at") this.#places = new Places(await readList(this.answers, content));
  }

  /** @returns {Places | NumberPlaces} */
  #known() {
    if (this.#places !== null) return this.#places;
    if (this.code !== null) throw new ParameterError("the answers of this task are texts, which have no places");
    const { address } = /** @type {{address: string}} */ (this.answers);
    throw new DataError(`the list of answers of this task is at ${address}: fetch it first, with client.loadAnswers()`);
  }

  /**
   * What a person's messages are made of: the place of an answer, the values of a text on all levels, the nodes above a
   * number, or the places of choices, of which a random subset is taken if they are too many. It never fails because of
   * the answer.
   * @param {unknown} answer
   * @returns {Promise<Values>}
   */
  async valuesOf(answer) {
    if (this.code !== null) return this.code.valuesOf(answer);
    if (this.#choices !== null) return this.#choices.reportedPlaces(answer);
    return this.tree === null ? this.placeOf(answer) : this.tree.path(this.placeOf(answer));
  }

  /**
   * The text that is counted, before it is sent: an answer after the task's normalisation, "" for no answer. Listed
   * answers are not changed.
   * @param {unknown} answer
   * @returns {string | null} null if it is not valid Unicode, or has no text
   */
  normalised(answer) {
    return this.code === null ? writtenAs(answer) : this.code.normalised(answer);
  }

  /**
   * Why an answer is counted as (other); null if it is not.
   * @param {unknown} answer
   * @returns {WhyOther | null}
   */
  whyOther(answer) {
    if (this.code !== null) return this.code.whyOther(answer);
    if (this.edges !== null) return this.placeOf(answer) === this.edges.intervals ? "not-a-number" : null;
    const places = this.#choices === null ? [this.placeOf(answer)] : this.#choices.placesOf(answer);
    return places.some((place) => this.labelOf(place) === OTHER) ? "not-listed" : null;
  }

  /**
   * Whether an answer is counted as (other): it is not listed, is no number, or is a text that is too long or has other
   * characters. Of choices, whether one of them is.
   * @param {unknown} answer
   */
  countsAsOther(answer) {
    return this.whyOther(answer) !== null;
  }

  /**
   * Where an answer is counted, or one choice; every answer has a place.
   * @param {unknown} answer null, undefined and an empty text are no answer
   */
  placeOf(answer) {
    return this.#known().placeOf(answer);
  }

  /**
   * The answer that is counted at a place.
   * @param {number} place
   */
  labelOf(place) {
    return this.#known().labelOf(place);
  }

  /**
   * What a message stands for: one for an answer, or one less for it; null if it counts for nothing. The answer may be
   * a range of numbers, with (other) and (none) as further parts after commas. A hashed message fits many answers:
   * `hashOf` says what it is.
   * @param {Message} message
   * @returns {{label: string | null, less: boolean} | null} the label of a padding bin is null
   */
  meaningOf(message) {
    if (this.family !== null) throw new ParameterError("a hashed message fits many answers: use hashOf");
    const number = Number(message);
    if (this.padded && number === this.nothing) return null;
    const [place, less] = [Math.floor(number / this.#kinds), number % this.#kinds === 1];
    const numbers = this.#numbers;
    if (numbers !== null) return { label: numbers.labelOf(...numbers.tree.leavesOf(place)), less };
    return { label: this.#choices?.isPadding(place) ? null : this.labelOf(place), less };
  }

  /**
   * The level of a hashed message, the seed of its hash function, and its bucket; null where messages are not hashed.
   * @param {Message} message
   * @returns {{level: number, seed: bigint, bucket: number} | null}
   */
  hashOf(message) {
    return this.family && this.family.parts(BigInt(message));
  }
}

/**
 * The task that a text or its bytes hold; refused if anything in it is not as the wire format says.
 * @param {string | Uint8Array | ArrayBuffer | Task} source
 * @returns {Promise<Task>}
 */
export async function readTask(source) {
  if (source instanceof Task) return source;
  return taskOfJson(parsed(source));
}

/**
 * Return the JSON that a text or its bytes hold, in the one way in which all parsers read it.
 * @param {string | Uint8Array | ArrayBuffer} source
 */
export function parsed(source) {
  return parseStrictly(textOf(source));
}

/** Whether JSON is a series of tasks, which only its kind says. @param {any} plain */
export function isSeries(plain) {
  return typeof plain === "object" && plain !== null && plain.kind === "series";
}

/**
 * Return the task that JSON holds.
 * @param {any} plain
 * @returns {Promise<Task>}
 */
export async function taskOfJson(plain) {
  if (isSeries(plain)) throw new TaskError("it is a series, and here one task is needed: read it as a series");
  checkForm(plain, "");
  return checkedTask(plain);
}

/**
 * Return the task of JSON that has the form of one.
 * @param {any} plain
 * @returns {Promise<Task>}
 */
export async function checkedTask(plain) {
  await checkFigures(plain);
  const canonical = canonicalBytes(plain);
  const task = new Task(plain, canonical, await sha256(canonical));
  if (task.opens >= task.closes) throw new TaskError("a task must open before it closes");
  if (task.longestReport > LONGEST_REPORT) {
    throw new TaskError(
      `a report of this task may have ${task.longestReport} bytes, and nobody should have to send more than ` +
        `${LONGEST_REPORT}: use another protocol, or fewer answers`,
    );
  }
  Object.freeze(task);
  return task;
}

/** @param {string | Uint8Array | ArrayBuffer} source */
function textOf(source) {
  if (typeof source === "string" && !source.isWellFormed()) {
    throw new TaskError("a text of the task is not valid Unicode: it has an unpaired surrogate");
  }
  const bytes = typeof source === "string" ? new TextEncoder().encode(source) : new Uint8Array(source);
  if (bytes.length > MOST_TASK_BYTES) throw new TaskError(`it is longer than ${MOST_TASK_BYTES} bytes`);
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    if (text.trim() === "") throw new TaskError("it is empty");
    return text;
  } catch (error) {
    throw error instanceof TaskError ? error : new TaskError("it is not JSON in UTF-8 (its bytes are no text)");
  }
}
