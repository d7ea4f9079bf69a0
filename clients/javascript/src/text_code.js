// A public code that cuts a text into pieces: the rules of shuffledp.histogram.text_code in the Python package.
import { sha256 } from "./bytes.js";
import { TaskError } from "./errors.js";
import { shown } from "./exact.js";
import { trimmed, writtenAs } from "./texts.js";

/**
 * The answers of a task that counts texts which nobody listed.
 * @typedef {{kind: "text", longest: number, levels: number,
 *   pieces: {kind: "alphabet", characters: string, width: number} | {kind: "list", values: string[]},
 *   normalisation: ("trim" | "lower" | "query" | "slash")[]}} AnswerText
 */

/**
 * Why a text is counted as (other): it is not Unicode, has too many bytes, or the code has no pieces for it.
 * @typedef {"not-unicode" | "too-long" | "not-in-code"} WhyOther
 */

/** The symbols that are no pieces. */
const [END, OTHER, NONE, FIRST_PIECE] = [0, 1, 2, 3];

const MOST_SYMBOLS = 2 ** 14;
const MOST_LEVELS = 64;
const LONGEST_TEXT = 256;
const MOST_WIDTH = 4;

/** Of the hash of the symbols before: 48 bits. */
const PARENT_BYTES = 6;

/** Of a symbol in what is hashed. */
const SYMBOL_BYTES = 2;

/** Unicode normalisation (NFC) always comes first; these follow in this order, those that a task names. */
const STEPS = /** @type {const} */ (["trim", "lower", "query", "slash"]);

/** What Python does not print; a space it does. */
const NOT_PRINTABLE = /(?! )[\p{C}\p{Z}]/u;

/** Cuts texts; every answer has a path of one symbol for each level, and with it a value on each level. */
export class TextCode {
  /** From a piece to its symbol; made when it is first needed. @type {Map<string, number> | null} */
  #numbers = null;
  #longestPiece = 1;

  /** @param {AnswerText} answers refused if a text could be cut in two ways */
  constructor(answers) {
    checkText(answers);
    const { levels, longest, pieces, normalisation } = answers;
    this.levels = levels;
    /** Bytes of the longest text. */
    this.longest = longest;
    this.pieces = pieces;
    this.steps = new Set(normalisation);
    /** How many symbols there are: the end, (other), (none) and the pieces. */
    this.symbols = FIRST_PIECE + numberOf(pieces);
  }

  /** How many values a level has. */
  get values() {
    return BigInt(this.symbols) << BigInt(8 * PARENT_BYTES);
  }

  /**
   * The text that counts, "" for no answer; null if it is not valid Unicode.
   * @param {unknown} answer
   * @returns {string | null}
   */
  normalised(answer) {
    const given = writtenAs(answer);
    if (given === null || !given.isWellFormed()) return null;
    let text = given.normalize("NFC");
    if (this.steps.has("trim")) text = trimmed(text);
    if (this.steps.has("lower")) text = text.toLowerCase().normalize("NFC");
    if (this.steps.has("query")) text = text.split("?", 1)[0].split("#", 1)[0];
    return this.steps.has("slash") ? withoutSlashes(text) : text;
  }

  /**
   * Why an answer is counted as (other); null if it is not.
   * @param {unknown} answer
   * @returns {WhyOther | null}
   */
  whyOther(answer) {
    const found = this.#cut(answer);
    return typeof found === "string" ? found : null;
  }

  /**
   * The symbols of an answer on all levels.
   * @param {unknown} answer
   * @returns {number[]}
   */
  path(answer) {
    const found = this.#cut(answer);
    const symbols = typeof found === "string" ? [OTHER] : found.length === 0 ? [NONE] : found;
    return [...symbols, ...new Array(this.levels - symbols.length).fill(END)];
  }

  /**
   * The values of an answer on all levels: a symbol together with a hash of the symbols before it.
   * @param {unknown} answer
   * @returns {Promise<bigint[]>}
   */
  async valuesOf(answer) {
    const path = this.path(answer);
    const written = new Uint8Array(path.flatMap((symbol) => [symbol >> 8, symbol & 255]));
    return Promise.all(
      path.map(async (symbol, level) => {
        const parent = level === 0 ? 0n : await parentOf(written.subarray(0, SYMBOL_BYTES * level));
        return parent * BigInt(this.symbols) + BigInt(symbol);
      }),
    );
  }

  /**
   * The symbols of the longest pieces from the start of a text on, or why it cannot be cut.
   * @param {unknown} answer
   * @returns {number[] | WhyOther}
   */
  #cut(answer) {
    const text = this.normalised(answer);
    if (text === null) return "not-unicode";
    if (new TextEncoder().encode(text).length > this.longest) return "too-long";
    const characters = Array.from(text); // code points, as the pieces are counted in
    const numbers = this.#listed();
    const found = [];
    for (let at = 0; at < characters.length; ) {
      let length = Math.min(this.#longestPiece, characters.length - at);
      while (length > 0 && !numbers.has(characters.slice(at, at + length).join(""))) length -= 1;
      if (length === 0 || found.length === this.levels) return "not-in-code";
      found.push(Number(numbers.get(characters.slice(at, at + length).join(""))));
      at += length;
    }
    return found;
  }

  #listed() {
    if (this.#numbers === null) {
      const listed = this.pieces.kind === "list" ? this.pieces.values : spelled(this.pieces);
      this.#numbers = new Map(listed.map((piece, at) => [piece, FIRST_PIECE + at]));
      this.#longestPiece = listed.reduce((longest, piece) => Math.max(longest, Array.from(piece).length), 1);
    }
    return this.#numbers;
  }
}

/**
 * Refuses a code that could cut a text in two ways, or whose pieces no text contains.
 * @param {AnswerText} answers
 */
function checkText({ levels, longest, pieces, normalisation }) {
  if (levels < 1 || levels > MOST_LEVELS) throw unusable(`levels must be 1 to ${MOST_LEVELS}, got ${levels}`);
  if (longest < 1 || longest > LONGEST_TEXT) {
    throw unusable(`longest must be 1 to ${LONGEST_TEXT} bytes, got ${longest}`);
  }
  if (normalisation.join() !== STEPS.filter((step) => normalisation.includes(step)).join()) {
    throw unusable(`normalisation must be some of ${STEPS.join(", ")}, in this order`);
  }
  if (pieces.kind === "alphabet" && (pieces.width < 1 || pieces.width > MOST_WIDTH)) {
    throw unusable(`width must be 1 to ${MOST_WIDTH} characters, got ${pieces.width}`);
  }
  const each = pieces.kind === "list" ? pieces.values : Array.from(pieces.characters);
  if (each.length === 0) throw unusable("either pieces or an alphabet must be given");
  if (FIRST_PIECE + numberOf(pieces) > MOST_SYMBOLS) {
    const most = spelt(MOST_SYMBOLS - FIRST_PIECE);
    throw unusable(`a code must have at most ${most} pieces, got ${spelt(numberOf(pieces))}`);
  }
  if (new Set(each).size !== each.length) {
    throw unusable("pieces must differ: one is there twice, so a text could be cut in two ways");
  }
  for (const piece of each) {
    if (piece === "" || NOT_PRINTABLE.test(piece)) {
      throw unusable(`a piece must be printable text of one line, got ${shown(piece)}`);
    }
    const lower = normalisation.includes("lower") && piece.toLowerCase() !== piece;
    if (lower || piece.normalize("NFC") !== piece) {
      throw unusable(`the piece ${shown(piece)} is not normalised, so no text could contain it`);
    }
  }
}

/** @param {string} why */
function unusable(why) {
  return new TaskError(`the code of the answers cannot be used: ${why}`);
}

/** @param {number} number */
function spelt(number) {
  return number.toLocaleString("en");
}

/** @param {AnswerText["pieces"]} pieces */
function numberOf(pieces) {
  if (pieces.kind === "list") return pieces.values.length;
  const characters = Array.from(pieces.characters).length;
  let number = 0;
  for (let length = 1; length <= pieces.width; length++) number += characters ** length;
  return number;
}

/**
 * All texts of 1 to `width` characters: shorter ones first, those of one length in the order of the alphabet.
 * @param {{characters: string, width: number}} pieces
 */
function spelled({ characters, width }) {
  const alphabet = Array.from(characters);
  let last = alphabet;
  const found = [...alphabet];
  for (let length = 2; length <= width; length++) {
    last = last.flatMap((text) => alphabet.map((character) => text + character));
    found.push(...last);
  }
  return found;
}

/**
 * The first 48 bits of a SHA-256.
 * @param {Uint8Array} written
 */
async function parentOf(written) {
  return (await sha256(written)).subarray(0, PARENT_BYTES).reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
}

/** @param {string} text */
function withoutSlashes(text) {
  let stop = text.length;
  while (stop > 0 && text[stop - 1] === "/") stop -= 1;
  return text.slice(0, stop);
}
