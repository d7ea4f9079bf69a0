import { TaskError } from "./errors.js";
import { readNumber, shown } from "./exact.js";

/**
 * @typedef {import("./exact.js").Dyadic} Dyadic
 * @typedef {{rate: Dyadic, sizeWeights: number[]}} ClusterLaw clusters of size s have the weight sizeWeights[s - 1]
 * @typedef {{kind: "coin", probability: Dyadic, leavesOut: boolean}
 *   | {kind: "clusters", laws: {dummies: ClusterLaw} | {pairs: ClusterLaw, lone: ClusterLaw}, branching?: number}
 *   | {kind: "hashed", buckets: number, dummies: ClusterLaw}} Law the noise: coins of every value, which add a message
 *   to it or leave one out, clusters of messages, or dummies with random hash functions and buckets; as many of them
 *   fit each value as the law says. Nodes of a tree have its `branching`
 */

/**
 * All that is particular to a protocol.
 * @typedef {object} Protocol
 * @property {string[]} fields of its parameters, sorted
 * @property {(parameters: Record<string, any>) => Law} read
 * @property {boolean} padded whether every report holds as many messages as any, so that its length tells nothing
 * @property {1 | 2} kinds of messages that each value has: one for it, and where there are two, one less for it
 * @property {readonly string[]} answers the kinds of answers that it counts
 */

/** Sizes of clusters have probabilities that are multiples of 2^-40: sums of them are exact in doubles. */
export const SIZE_GRID = 2 ** 40;

/** Probabilities of coins are multiples of 2^-53, so that seven random bytes decide each of them exactly. */
const GRID_BITS = 53;

/** Of clusters of one value: the limit of the Python package, so that both refuse the same tasks. */
const LARGEST_RATE = 1e5;

/** Steps that the probabilities of a law may take, for anybody to check the privacy: those of the Python package. */
const MOST_WORK = 1e11;

/** Of the clusters of a law: twice what the smallest epsilon needs. */
const MOST_SIZES = 2 ** 15;

/** Of hash functions: sums of products of two digits stay exact. */
const MOST_BUCKETS = 2 ** 24;

/** The kinds of answers with one value of each person, and all kinds of listed answers. */
const ONE_VALUE = ["list", "range", "listed-at"];
const LISTED = [...ONE_VALUE, "choices"];

/** Every protocol that a task can name. @type {Readonly<Record<string, Protocol>>} */
export const PROTOCOLS = Object.freeze({
  hist: withCoins("missing_probability", { leavesOut: true }),
  "hist-unbiased": withCoins("missing_probability", { leavesOut: true }),
  sparse: withPairs(),
  "sparse-best": withPairs(),
  dummy: withCoins("dummy_probability", { leavesOut: false }),
  "dummy-poisson": {
    fields: ["dummies"],
    read: ({ dummies }) => ({ kind: "clusters", laws: { dummies: oneAtATime(dummies) } }),
    padded: false,
    kinds: 1,
    answers: LISTED,
  },
  hashed: {
    fields: ["buckets", "dummies"],
    read: ({ buckets, dummies }) => ({ kind: "hashed", buckets: primeBuckets(buckets), dummies: oneAtATime(dummies) }),
    padded: false,
    kinds: 1,
    answers: [...ONE_VALUE, "text"],
  },
  ranges: {
    fields: ["branching", "dummies"],
    read: ({ branching, dummies }) => ({
      kind: "clusters",
      laws: { dummies: oneAtATime(dummies) },
      branching: wholeBranching(branching),
    }),
    padded: false,
    kinds: 1,
    answers: ["numbers"],
  },
});

/**
 * A coin for every value.
 * @param {string} field with the probability of heads
 * @param {{leavesOut: boolean}} heads whether heads leaves out the message of a value; otherwise it adds one
 * @returns {Protocol}
 */
function withCoins(field, { leavesOut }) {
  return {
    fields: [field],
    read: (parameters) => ({ kind: "coin", probability: coin(parameters[field], field), leavesOut }),
    padded: true,
    kinds: 1,
    answers: LISTED,
  };
}

/**
 * Clusters of pairs, one for a value and one less for it, and clusters of messages of the second kind.
 * @returns {Protocol}
 */
function withPairs() {
  return {
    fields: ["lone", "pairs"],
    read: ({ pairs, lone }) => ({
      kind: "clusters",
      laws: { pairs: clusters(pairs, "pairs"), lone: clusters(lone, "lone") },
    }),
    padded: true,
    kinds: 2,
    answers: LISTED,
  };
}

/**
 * The noise of a protocol, read once and exactly.
 * @param {string} name
 * @param {Record<string, any>} parameters
 * @param {string} [kind] of the answers, which the protocol must be able to count
 * @returns {Law}
 */
export function readLaw(name, parameters, kind) {
  if (!Object.hasOwn(PROTOCOLS, name)) {
    throw new TaskError(`a task's protocol must be one of ${Object.keys(PROTOCOLS).join(", ")}; got ${shown(name)}`);
  }
  const { answers, fields, read } = PROTOCOLS[name];
  if (kind !== undefined && !answers.includes(kind)) {
    throw new TaskError(
      `the protocol of a task with answers of kind ${kind} must be ${protocolsFor(kind).join(", ")}, got ${name}`,
    );
  }
  if (!hasFields(parameters, fields)) {
    throw new TaskError(`the parameters of ${name} must be ${fields.join(" and ")}, and nothing else`);
  }
  return read(parameters);
}

/** @param {string} kind of answers */
function protocolsFor(kind) {
  return Object.keys(PROTOCOLS).filter((each) => PROTOCOLS[each].answers.includes(kind));
}

/**
 * @param {any} part
 * @param {string[]} names sorted
 */
function hasFields(part, names) {
  return typeof part === "object" && part !== null && Object.keys(part).sort().join() === names.join();
}

/**
 * @param {unknown} text
 * @param {string} name
 */
function coin(text, name) {
  const probability = readNumber(text, name);
  if (probability.value <= 0 || probability.value > 0.5) {
    throw new TaskError(`the parameters cannot be used: ${name} must lie in (0, 1/2], got ${shown(text)}`);
  }
  if (probability.power > GRID_BITS) {
    throw new TaskError(`the parameters cannot be used: ${name}=${shown(text)} is not a multiple of 2^-${GRID_BITS}`);
  }
  return probability;
}

/**
 * @param {any} written
 * @param {string} name
 * @returns {ClusterLaw}
 */
function clusters(written, name) {
  if (Array.isArray(written) || !hasFields(written, ["rate", "size_weights"])) {
    throw new TaskError(`${name} must have a rate and size_weights`);
  }
  /** @type {unknown} */
  const weights = written.size_weights;
  if (!Array.isArray(weights) || weights.length === 0 || !weights.every((weight) => typeof weight === "number")) {
    throw new TaskError(`the size_weights of ${name} must be a list of whole numbers`);
  }
  const rate = readNumber(written.rate, `the rate of ${name}`);
  if (weights.length > MOST_SIZES || rate.value * weights.length ** 2 > MOST_WORK) {
    throw new TaskError(`the size_weights of ${name} are too many to check the privacy of the task`);
  }
  if (rate.value <= 0 || rate.value > LARGEST_RATE) {
    throw new TaskError(`the parameters cannot be used: the rate of ${name} must lie in (0, 100000]`);
  }
  const usable = weights.every((weight) => weight >= 0 && weight <= SIZE_GRID); // their sum is exact, or far larger
  if (!usable || weights.reduce((sum, weight) => sum + weight, 0) !== SIZE_GRID || weights.at(-1) === 0) {
    throw new TaskError(
      `the size_weights of ${name} must be whole numbers that add up to ${SIZE_GRID}, the last one above 0`,
    );
  }
  return { rate, sizeWeights: weights };
}

/** @param {unknown} buckets */
function primeBuckets(buckets) {
  if (typeof buckets !== "number" || !(buckets >= 2 && buckets <= MOST_BUCKETS) || !isPrime(buckets)) {
    throw new TaskError(`buckets must be a prime number up to ${MOST_BUCKETS}, got ${shown(buckets)}`);
  }
  return buckets;
}

/** @param {number} number */
function isPrime(number) {
  if (number < 4) return number > 1;
  if (number % 2 === 0) return false;
  for (let divisor = 3; divisor * divisor <= number; divisor += 2) if (number % divisor === 0) return false;
  return true;
}

/** @param {unknown} branching is compared with the number of intervals in numbers.js */
function wholeBranching(branching) {
  if (typeof branching !== "number") throw new TaskError(`branching must be a whole number, got ${shown(branching)}`);
  return branching;
}

/** @param {any} written */
function oneAtATime(written) {
  const law = clusters(written, "dummies");
  if (law.sizeWeights.length !== 1) {
    throw new TaskError(
      "dummies must come one at a time, size_weights=[2^40]: otherwise their numbers tell something",
    );
  }
  return law;
}
