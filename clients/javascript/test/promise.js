/** Every promise of vectors/promises.json: the same figures and the same verdicts as the Python package has. */

import { curveOf } from "../src/curve/curve.js";
import { chanceOfMore } from "../src/curve/most_messages.js";
import { ParameterError } from "../src/errors.js";
import { readDecimal } from "../src/exact.js";
import { checkPair } from "../src/guarantee.js";
import { readLaw } from "../src/parameters.js";
import { checkPromise } from "../src/promise.js";
import { strengthOf } from "../src/strength.js";

/**
 * How far two programs may be apart, relative to a delta. Measured: 2e-12, where a delta of 1e-5 is the difference of
 * two probabilities near 1/2, and 1e-13 otherwise.
 */
const CLOSE = 1e-9;

/** And absolutely: what windows leave out. */
const NOTHING = 1e-25;

/** @param {number} one @param {number} other */
function agree(one, other) {
  return Math.abs(one - other) <= Math.max(CLOSE * other, NOTHING);
}

/** The task of a vector, as far as its privacy needs it. @param {any} vector @param {any} [changes] */
export function asked(vector, { guarantee = vector.guarantee, most_messages: mostMessages = 2 ** 32 - 1 } = {}) {
  return {
    users: vector.users,
    honestUsers: vector.honest_users,
    values: vector.values,
    levels: vector.levels ?? 1,
    mostMessages,
    guarantee: {
      epsilon: readDecimal(guarantee.epsilon, "epsilon"),
      delta: readDecimal(guarantee.delta, "delta"),
    },
    law: readLaw(vector.protocol.name, vector.protocol.parameters),
  };
}

/** @param {any} vector */
function* wrong(vector) {
  const task = asked(vector);
  const curve = curveOf(task);
  if (curve.exact !== vector.exact) yield `exact is ${curve.exact}`;
  for (const [epsilon, expected] of Object.entries(vector.delta_at)) {
    const delta = curve.delta(Number(epsilon));
    if (!agree(delta, expected)) yield `delta at ${epsilon} is ${delta}, not ${expected}`;
  }
  for (const [most, expected] of Object.entries(vector.chance_of_more)) {
    const limited = { ...task, mostMessages: Number(most) };
    const chance = chanceOfMore(limited);
    if (!agree(chance, expected)) yield `the chance of more than ${most} messages is ${chance}, not ${expected}`;
    const delta = expected < 1 ? Math.min(1, vector.delta_at["1"] / (1 - expected)) : 1;
    const reached = chance < 1 ? Math.min(1, curve.delta(1) / (1 - chance)) : 1;
    if (!agree(reached, delta)) yield `delta with at most ${most} messages is ${reached}, not ${delta}`;
  }
  for (const verdict of vector.verdicts) {
    const said = judged(asked(vector, verdict), verdict.at_most);
    if (said.refused !== verdict.refused || said.strength !== verdict.strength) {
      yield `${JSON.stringify(verdict)}: ${JSON.stringify(said)}`;
    }
  }
}

/**
 * What is said where a promise is refused, otherwise its strength.
 * @param {any} task
 * @param {string[] | null} [atMost]
 */
export function judged(task, atMost) {
  try {
    const limit = /** @type {[number, number] | undefined} */ (atMost?.map(Number));
    const { epsilon, delta, reached, strength } = checkPromise(task, limit);
    const kept = epsilon === task.guarantee.epsilon && delta === task.guarantee.delta && reached <= delta * (1 + 1e-9);
    return { refused: kept ? null : "the promise is another one", strength };
  } catch (error) {
    const { name, message } = /** @type {Error} */ (error);
    return { refused: name === "BrokenPromiseError" ? message : `${name}: ${message}`, strength: null };
  }
}

/** @param {{epsilon: string, delta: string, strength: string}[]} vectors */
function* otherStrengths(vectors) {
  for (const { epsilon, delta, strength } of vectors) {
    const found = strengthOf(Number(epsilon), Number(delta));
    if (found !== strength) yield `epsilon ${epsilon} and delta ${delta} are ${found}, not ${strength}`;
  }
  for (const [epsilon, delta] of [[NaN, 1e-6], [1, NaN]]) {
    if (strengthOf(epsilon, delta) !== "weak") yield `epsilon ${epsilon} and delta ${delta} are not weak`;
  }
}

function* outOfRange() {
  const wrongLimits = [[1], [1, 2, 3], ["1", "1e-6"], [0, 1e-6], [51, 1e-6], [1, 0], [1, 1], [1, NaN], 1, "1,1e-6"];
  for (const limit of wrongLimits) {
    try {
      checkPair("atMost", limit);
      yield `${JSON.stringify(limit)} was taken for a limit`;
    } catch (error) {
      if (!(error instanceof ParameterError)) yield `${JSON.stringify(limit)}: ${error}`;
    }
  }
}

/** Noise that takes too long to compute with is refused in words, and soon. @param {any} vector */
function* tooMuch(vector) {
  const half = 2 ** 39;
  const rate = (/** @type {number} */ value) => ({ numerator: 1n, power: 0, value });
  const wide = { rate: rate(90), sizeWeights: [half, ...new Array(32766).fill(0), half] };
  const often = { rate: rate(1e5), sizeWeights: [half, ...new Array(998).fill(0), half] };
  const coins = { kind: "coin", probability: { numerator: 1n, power: 1, value: 0.5 }, leavesOut: true };
  const laws = [wide, often].map((law) => ({ kind: "clusters", laws: { pairs: law, lone: law } }));
  for (const law of [coins, ...laws]) {
    const task = { ...asked(vector), users: 1e12, honestUsers: 1e12, law };
    const { refused: said } = judged(task);
    if (!said?.includes("cannot be checked here")) yield `${law.kind}: ${said}`;
  }
}

/**
 * @param {(path: string) => Promise<any>} load
 * @returns {Promise<{name: string, error?: string}[]>}
 */
export async function check(load) {
  const vectors = await load("promises.json");
  const results = vectors.map((/** @type {any} */ vector) => of(vector.name, () => wrong(vector)));
  const strengths = await load("strengths.json");
  results.push(of("strengths", () => otherStrengths(strengths)));
  results.push(of("limits that are none", () => outOfRange()));
  results.push(of("too much to compute", () => tooMuch(vectors[0])));
  return results;
}

/** @param {string} name @param {() => Iterable<string>} problems */
function of(name, problems) {
  try {
    const found = [...problems()];
    return found.length ? { name: `promise: ${name}`, error: found.join("\n") } : { name: `promise: ${name}` };
  } catch (error) {
    return { name: `promise: ${name}`, error: String(/** @type {Error} */ (error).stack) };
  }
}
