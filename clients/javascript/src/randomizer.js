import { ClusterSampler } from "./cluster_sampler.js";
import { ParameterError, ShuffledpError } from "./errors.js";
import { kinds } from "./kinds.js";
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

/** Sampling again is expected once in 10^13 people: a client that gets here has another task than was checked. */
const MOST_TRIES = 100;

/** Tables are made once for a task. @type {WeakMap<Task, Randomizer<any>>} */
const RANDOMIZERS = new WeakMap();

/**
 * One person's messages for an answer, in random order: drawn anew where they are more than a report may hold, since to
 * leave out some would change the noise. Where reports are padded, some of them count for nothing.
 * @param {Task} task
 * @param {import("./task.js").Values} given the values of an answer, as `task.valuesOf` returns them
 * @returns {Message[]}
 */
export function messagesOf(task, given, random = SYSTEM) {
  const values = checkedValues(task, given);
  let randomizer = RANDOMIZERS.get(task);
  if (randomizer === undefined) RANDOMIZERS.set(task, (randomizer = randomizerOf(task)));
  const { mostMessages, nothing, padded } = task;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const messages = randomizer(values, mostMessages, random);
    if (messages.length <= mostMessages) {
      while (padded && messages.length < mostMessages) messages.push(nothing);
      return shuffled(messages, random);
    }
  }
  throw new ShuffledpError("the randomizer always makes more messages than the task allows: the task was not checked");
}

/**
 * All values of one person, as a list.
 * @param {Task} task
 * @param {unknown} given
 * @returns {number[] | bigint[]}
 */
function checkedValues(task, given) {
  const kind = task.code === null ? "number" : "bigint";
  const fits = (/** @type {any} */ value) =>
    typeof value === kind && value >= 0 && value < task.values && isWhole(value);
  if (task.levels === 1 && task.code === null && task.tree === null) {
    if (fits(given)) return [/** @type {number} */ (given)];
    throw new ParameterError(`a place is a whole number from 0 to ${task.values - 1}`);
  }
  if (!Array.isArray(given) || given.length !== task.levels || !given.every(fits)) {
    throw new ParameterError(
      task.code === null
        ? `an answer has ${task.levels} values, whole numbers from 0 to ${task.values - 1}`
        : `a text has ${task.levels} values, one on each level`,
    );
  }
  if (task.code === null && new Set(given).size !== given.length) {
    throw new ParameterError("the values of an answer must differ: a value that is there twice would count twice");
  }
  const { tree } = task;
  if (tree !== null && String(given) !== String(tree.path(given[given.length - 1] - tree.starts[tree.levels - 1]))) {
    throw new ParameterError(`a number has ${task.levels} values, the nodes above its interval`);
  }
  return given;
}

/** @param {number | bigint} value */
function isWhole(value) {
  return typeof value === "bigint" || Number.isInteger(value);
}

/**
 * @param {Task} task
 * @returns {Randomizer<any>}
 */
function randomizerOf(task) {
  const { family, law, values, users } = task;
  if (law.kind === "hashed") {
    return kinds.hashedMessages(/** @type {NonNullable<typeof family>} */ (family), law.dummies, users);
  }
  if (law.kind === "coin") {
    const { leavesOut } = law;
    const digits = coinDigits(law.probability);
    return (own, most, random) => withCoins(own, { values, digits, leavesOut, most }, random);
  }
  if ("dummies" in law.laws) {
    const dummies = new ClusterSampler(law.laws.dummies, values, users);
    return (own, most, random) => [...own, ...dummies.draw(most, random)];
  }
  const [pairs, lone] = [law.laws.pairs, law.laws.lone].map((each) => new ClusterSampler(each, values, users));
  return (own, most, random) => withPairs(own, pairs.draw(most, random), lone.draw(most, random));
}

/**
 * @param {number[]} own the values of the person
 * @param {{values: number, digits: Uint8Array, leavesOut: boolean, most: number}} noise
 * @param {RandomBytes} random
 */
function withCoins(own, { values, digits, leavesOut, most }, random) {
  const messages = [...own];
  for (let value = 0; value < values && messages.length <= most; value++) {
    if (heads(digits, random) !== leavesOut) messages.push(value);
  }
  return messages;
}

/**
 * 2j stands for +j and 2j + 1 for -j.
 * @param {number[]} own the values of the person
 * @param {number[]} pairs
 * @param {number[]} lone
 */
function withPairs(own, pairs, lone) {
  const messages = own.map((value) => 2 * value);
  for (const value of pairs) messages.push(2 * value, 2 * value + 1);
  for (const value of lone) messages.push(2 * value + 1);
  return messages;
}
