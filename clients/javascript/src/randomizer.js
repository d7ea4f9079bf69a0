import { ClusterSampler } from "./cluster_sampler.js";
import { ParameterError, ShuffledpError } from "./errors.js";
import { hashedMessages } from "./hashed_messages.js";
import { SYSTEM, coinDigits, heads, shuffled } from "./randomness.js";

/** @typedef {import("./task.js").Task} Task */
/** @typedef {import("./task.js").Message} Message */
/** @typedef {import("./randomness.js").RandomBytes} RandomBytes */

/**
 * The messages of a person, in no order that matters: their own, and their part of the noise. Where they are more than
 * `most`, at least `most` + 1 of them.
 * @template Values
 * @typedef {(values: Values, most: number, random: RandomBytes) => Message[]} Randomizer
 */

/** Drawing again is expected once in 10^13 people: whoever gets here has another task than was checked. */
const MOST_TRIES = 100;

/** Tables are made once for a task. @type {WeakMap<Task, Randomizer<number | bigint[]>>} */
const RANDOMIZERS = new WeakMap();

/**
 * One person's messages for an answer, in random order: drawn anew where they are more than a report may hold, since to
 * leave out some would change the noise. Where reports are padded, some of them count for nothing.
 * @param {Task} task
 * @param {number | bigint[]} values the place of a listed answer, or the values of a text: those of `task.valuesOf`
 * @returns {Message[]}
 */
export function messagesOf(task, values, random = SYSTEM) {
  checkValues(task, values);
  let randomizer = RANDOMIZERS.get(task);
  if (randomizer === undefined) RANDOMIZERS.set(task, (randomizer = randomizerOf(task)));
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const messages = randomizer(values, task.mostMessages, random);
    if (messages.length <= task.mostMessages) {
      while (task.padded && messages.length < task.mostMessages) messages.push(task.nothing);
      return shuffled(messages, random);
    }
  }
  throw new ShuffledpError("the randomizer always makes more messages than the task allows: the task was not checked");
}

/**
 * @param {Task} task
 * @param {number | bigint[]} given
 */
function checkValues(task, given) {
  if (task.code === null) {
    if (typeof given === "number" && Number.isInteger(given) && given >= 0 && given < task.values) return;
    throw new ParameterError(`a place is a whole number from 0 to ${task.values - 1}`);
  }
  const fits = (/** @type {unknown} */ value) => typeof value === "bigint" && value >= 0n && value < task.values;
  if (!Array.isArray(given) || given.length !== task.levels || !given.every(fits)) {
    throw new ParameterError(`a text has ${task.levels} values, one on each level`);
  }
}

/**
 * @param {Task} task
 * @returns {Randomizer<any>}
 */
function randomizerOf(task) {
  const { family, law, values, users } = task;
  if (law.kind === "hashed") {
    return hashedMessages(/** @type {NonNullable<typeof family>} */ (family), law.dummies, users);
  }
  if (law.kind === "coin") {
    const { leavesOut } = law;
    const digits = coinDigits(law.probability);
    return (place, most, random) => withCoins(place, { values, digits, leavesOut, most }, random);
  }
  if ("dummies" in law.laws) {
    const dummies = new ClusterSampler(law.laws.dummies, values, users);
    return (place, most, random) => [place, ...dummies.draw(most, random)];
  }
  const [pairs, lone] = [law.laws.pairs, law.laws.lone].map((each) => new ClusterSampler(each, values, users));
  return (place, most, random) => withPairs(place, pairs.draw(most, random), lone.draw(most, random));
}

/**
 * @param {number} place
 * @param {{values: number, digits: Uint8Array, leavesOut: boolean, most: number}} noise
 * @param {RandomBytes} random
 */
function withCoins(place, { values, digits, leavesOut, most }, random) {
  const messages = [place];
  for (let value = 0; value < values && messages.length <= most; value++) {
    if (heads(digits, random) !== leavesOut) messages.push(value);
  }
  return messages;
}

/**
 * 2j stands for +j and 2j + 1 for -j.
 * @param {number} place
 * @param {number[]} pairs
 * @param {number[]} lone
 */
function withPairs(place, pairs, lone) {
  const messages = [2 * place];
  for (const value of pairs) messages.push(2 * value, 2 * value + 1);
  for (const value of lone) messages.push(2 * value + 1);
  return messages;
}
