import { checkAddress } from "./addresses.js";
import { fingerprint, isHexadecimal } from "./bytes.js";
import { TaskError } from "./errors.js";

/**
 * The answers that a task counts.
 * @typedef {{kind: "list", values: string[]} | {kind: "range", start: number, stop: number}
 *   | {kind: "listed-at", address: string, sha256: string, size: number} | import("./text_code.js").AnswerText
 *   | import("./numbers.js").AnswerNumbers | import("./choices.js").AnswerChoices} Answers
 */

/** What is counted of people whose answer is not listed, and of those who gave none; as every release names them. */
export const OTHER = "(other)";
export const NONE = "(none)";

/** Answers in a task file itself: more make it too long to be read by everybody. */
export const MOST_LISTED = 100_000;

/** More cannot be named in messages, with (other) and (none). */
const MOST_ANSWERS = 2 ** 32 - 2;

/** A whole number as text, in its one spelling. */
const WHOLE = /^-?(0|[1-9][0-9]{0,15})$/;

/** What Python takes for space, and so every reader of a task must; trim() has a few others. */
const ONLY_SPACES = /^[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$/;

/** @param {string} text */
export function isBlank(text) {
  return ONLY_SPACES.test(text);
}

/**
 * How many answers are listed, of a kind with one value for each person.
 * @param {Extract<Answers, {kind: "list" | "range" | "listed-at"}>} answers
 */
export function sizeOf(answers) {
  if (answers.kind === "range") return answers.stop - answers.start;
  return answers.kind === "list" ? answers.values.length : answers.size;
}

/**
 * Refuses answers that cannot be told apart, printed, found or named in messages. What only texts, numbers or choices
 * have is checked by their own modules.
 * @param {Answers} answers
 */
export function checkAnswers(answers) {
  if (answers.kind === "list") {
    checkValues(answers.values);
    if (answers.values.length > MOST_LISTED) {
      throw new TaskError("a task lists at most 100,000 answers: keep more in a file (kind listed-at)");
    }
  } else if (answers.kind === "choices") {
    checkValues(answers.values);
    if (answers.values.length > MOST_LISTED) {
      throw new TaskError(`a task lists at most 100,000 answers, got ${answers.values.length.toLocaleString("en")}`);
    }
  } else if (answers.kind === "range") {
    if (answers.start >= answers.stop || answers.stop - answers.start > MOST_ANSWERS) {
      throw new TaskError("a range of answers needs start < stop, both below 2^53, and at most 2^32 - 2 numbers");
    }
  } else if (answers.kind === "listed-at") {
    checkAddress(answers.address, "the list of answers");
    if (!isHexadecimal(answers.sha256)) {
      throw new TaskError("the sha256 of a list of answers must be 64 hexadecimal digits, in small letters");
    }
    if (answers.size < 1 || answers.size > MOST_ANSWERS) {
      throw new TaskError(`the size of a list of answers must lie between 1 and 2^32 - 2, got ${answers.size}`);
    }
  }
}

/** @param {string[]} values */
function checkValues(values) {
  if (values.length === 0) throw new TaskError("a task needs at least one possible answer");
  const different = new Set(values);
  if (different.size !== values.length) throw new TaskError("the answers of a task must differ: one is there twice");
  if (different.has(OTHER) || different.has(NONE)) {
    throw new TaskError(`${OTHER} and ${NONE} are answers of every task: leave them out of the list`);
  }
  for (const value of values) {
    if (isBlank(value)) throw new TaskError("an answer of a task must not be empty: no answer at all is (none)");
    if (/[\n\r]/.test(value)) throw new TaskError("an answer must be text of one line, without unpaired surrogates");
  }
}

/**
 * The answers of a file that a task keeps elsewhere, if it has the fingerprint.
 * @param {{sha256: string, size: number}} answers
 * @param {Uint8Array} content
 * @returns {Promise<string[]>}
 */
export async function readList(answers, content) {
  if ((await fingerprint(content)) !== answers.sha256) {
    throw new TaskError("the list of answers is not the one that the task names: its SHA-256 is another");
  }
  let text = "";
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    throw new TaskError("the list of answers is not UTF-8");
  }
  const values = (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
  checkValues(values);
  if (values.length !== answers.size) {
    throw new TaskError(`the list has ${values.length} answers, and the task says ${answers.size}`);
  }
  return values;
}

/** Where each answer is counted: the answers in their order, then (other), then (none). */
export class Places {
  /** @param {string[] | {start: number, stop: number}} answers */
  constructor(answers) {
    this.listed = Array.isArray(answers) ? answers : null;
    this.start = Array.isArray(answers) ? 0 : answers.start;
    this.number = Array.isArray(answers) ? answers.length : answers.stop - answers.start;
    this.found = this.listed && new Map(this.listed.map((value, place) => [value, place]));
  }

  /**
   * The place of an answer. It never fails: not to report because of an answer would tell something.
   * @param {unknown} answer null, undefined or an empty text is no answer
   * @returns {number}
   */
  placeOf(answer) {
    if (answer === null || answer === undefined || answer === "") return this.number + 1;
    if (typeof answer === "object" || typeof answer === "function") return this.number; // no text, whatever it contains
    try {
      const place = this.found ? this.found.get(String(answer)) : whole(answer) - this.start;
      return place !== undefined && place >= 0 && place < this.number ? place : this.number;
    } catch {
      return this.number; // a symbol has no text
    }
  }

  /** @param {number} place */
  labelOf(place) {
    if (place >= this.number) return place === this.number ? OTHER : NONE;
    return this.listed ? this.listed[place] : String(this.start + place);
  }
}

/**
 * The whole number that an answer is, or that its text is; NaN if it is none.
 * @param {unknown} answer
 */
function whole(answer) {
  if (typeof answer === "string") return WHOLE.test(answer) ? Number(answer) : Number.NaN;
  const number = typeof answer === "number" || typeof answer === "bigint" ? Number(answer) : Number.NaN;
  return Number.isSafeInteger(number) ? number : Number.NaN;
}
