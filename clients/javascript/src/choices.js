// Answers that are several choices from a list, at most a public number of them.
import { Places } from "./answers.js";
import { TaskError } from "./errors.js";
import { SYSTEM, shuffled } from "./randomness.js";

/**
 * The answers of a task that counts several choices of one person.
 * @typedef {{kind: "choices", values: string[], most: number}} AnswerChoices
 */

const MOST_CHOICES = 64;

/**
 * The places of choices: the listed values, (other), (none), then `most` padding bins, which stand for choices that a
 * person leaves free. Everybody reports exactly `most` places, so the number of choices stays private.
 */
export class ChoicePlaces extends Places {
  /** @param {AnswerChoices} answers */
  constructor({ values, most }) {
    if (most < 2 || most > Math.min(MOST_CHOICES, values.length)) {
      throw new TaskError(
        `most must be at least 2, at most ${MOST_CHOICES}, and at most the number of answers ${values.length}, ` +
          `got ${most}`,
      );
    }
    super(values);
    this.most = most;
  }

  /** The number of places, including the padding bins. */
  get size() {
    return this.number + 2 + this.most;
  }

  /**
   * The different places of all choices in an answer, in increasing order. A text, a map, or anything that cannot be
   * iterated over, is one choice. Empty choices are left out, and an answer without any other choice is the choice (none).
   * @param {unknown} answer
   * @returns {number[]}
   */
  placesOf(answer) {
    const [other, none] = [this.number, this.number + 1];
    const found = new Set();
    try {
      for (const choice of isIterable(answer) ? answer : [answer]) found.add(this.placeOf(choice));
    } catch {
      return [other]; // an object may fail to give its choices; not to report would reveal something
    }
    found.delete(none);
    return found.size === 0 ? [none] : [...found].sort((one, next) => one - next);
  }

  /**
   * The places that are reported: exactly `most` different ones. Of more choices a random subset is reported, and every
   * subset is equally likely; of fewer choices, the first padding bins complete them.
   * @param {unknown} answer
   * @returns {number[]}
   */
  reportedPlaces(answer, random = SYSTEM) {
    const chosen = this.placesOf(answer);
    if (chosen.length > this.most) return shuffled(chosen, random).slice(0, this.most);
    const free = this.most - chosen.length;
    return [...chosen, ...Array.from({ length: free }, (_, at) => this.number + 2 + at)];
  }

  /**
   * Whether a place is a padding bin.
   * @param {number} place
   */
  isPadding(place) {
    return place >= this.number + 2;
  }

  /** @param {number} place */
  labelOf(place) {
    return this.isPadding(place) ? `(padding ${place - this.number - 1})` : super.labelOf(place);
  }
}

/**
 * @param {unknown} answer
 * @returns {answer is Iterable<unknown>}
 */
function isIterable(answer) {
  return typeof answer === "object" && answer !== null && !(answer instanceof Map) && Symbol.iterator in answer;
}
