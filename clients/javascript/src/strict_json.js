import { shown } from "./exact.js";
import { TaskError } from "./errors.js";

/** Objects within objects: a task has three of them, and a reader must not run out of its stack. */
const DEEPEST = 32;

/** As JSON has them (RFC 8259): numbers, of which only whole ones are taken, spaces, and words. */
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const SPACES = /[ \t\n\r]*/y;
const WORDS = /** @type {[string, unknown][]} */ ([["true", true], ["false", false], ["null", null]]);

/**
 * The value of a JSON text; refused wherever readers could disagree about it: a name that is twice in one object, a
 * number that is not written as a whole one, and text with an unpaired surrogate. Objects have no prototype, so that
 * no name means anything.
 * @param {string} text
 * @returns {unknown}
 */
export function parseStrictly(text) {
  let at = 0;

  /** @returns {never} */
  function notJson() {
    throw new TaskError(`it is not JSON in UTF-8 (at character ${at})`);
  }

  function skipSpaces() {
    SPACES.lastIndex = at;
    SPACES.test(text);
    at = SPACES.lastIndex;
  }

  /** @param {string} wanted */
  function next(wanted) {
    skipSpaces();
    if (text[at] !== wanted) return false;
    at += 1;
    return true;
  }

  /** @returns {string} */
  function string() {
    const start = at;
    for (at += 1; text[at] !== '"'; at += text[at] === "\\" ? 2 : 1) if (at >= text.length) notJson();
    at += 1;
    let found = "";
    try {
      found = JSON.parse(text.slice(start, at));
    } catch {
      notJson(); // an escape that is none, or a control character
    }
    if (!found.isWellFormed()) {
      throw new TaskError("a text of the task is not valid Unicode: it has an unpaired surrogate");
    }
    return found;
  }

  /** @returns {number} */
  function number() {
    NUMBER.lastIndex = at;
    const found = NUMBER.exec(text);
    if (found === null) notJson();
    at = NUMBER.lastIndex;
    const value = Number(found[0]);
    if (found[1] !== undefined || found[2] !== undefined || !Number.isSafeInteger(value)) {
      throw new TaskError(
        `numbers in a task are whole and below 2^53, and fractions are text such as 5161/2^13; got ${shown(found[0])}`,
      );
    }
    return value + 0; // -0 is 0
  }

  /** @param {number} depth */
  function list(depth) {
    /** @type {unknown[]} */
    const found = [];
    if (next("]")) return found;
    do found.push(value(depth)); while (next(","));
    return next("]") ? found : notJson();
  }

  /** @param {number} depth */
  function object(depth) {
    const found = Object.create(null);
    if (next("}")) return found;
    do {
      skipSpaces();
      if (text[at] !== '"') notJson();
      const name = string();
      if (name in found) {
        throw new TaskError("a name is there twice in one object, so readers could disagree about it");
      }
      if (!next(":")) notJson();
      found[name] = value(depth);
    } while (next(","));
    return next("}") ? found : notJson();
  }

  /**
   * @param {number} depth
   * @returns {unknown}
   */
  function value(depth) {
    if (depth > DEEPEST) notJson();
    skipSpaces();
    const first = text[at];
    if (first === '"') return string();
    if (next("{")) return object(depth + 1);
    if (next("[")) return list(depth + 1);
    for (const [word, meaning] of WORDS) {
      if (text.startsWith(word, at)) {
        at += word.length;
        return meaning;
      }
    }
    return number();
  }

  const found = value(0);
  skipSpaces();
  return at === text.length ? found : notJson();
}
