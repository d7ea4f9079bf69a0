/** Every total of vectors/budgets.json: the same figures as the Python package computes. */

import { MomentBound } from "../src/curve/moments.js";
import { totalOf } from "../src/curve/total.js";
import { readDecimal } from "../src/exact.js";
import { readLaw } from "../src/parameters.js";

/** The relative distance that two programs may have. Measured: 1e-11. */
const CLOSE = 1e-9;

/** The same, absolutely: what windows leave out. */
const NOTHING = 1e-25;

/** The parameters of a spending that its privacy follows from. @param {any} spending */
export function askedOf(spending) {
  return {
    users: spending.users,
    honestUsers: spending.honest_users,
    values: Number(spending.values),
    levels: spending.values_per_person,
    mostMessages: spending.most_messages,
    guarantee: {
      epsilon: readDecimal(spending.guarantee.epsilon, "epsilon"),
      delta: readDecimal(spending.guarantee.delta, "delta"),
    },
    law: readLaw(spending.protocol.name, spending.protocol.parameters),
  };
}

/**
 * Return the figures of a vector, computed from its spendings.
 * @param {any} vector
 */
export function computed(vector) {
  const answered = vector.spendings.map((/** @type {any} */ { spending, times }) => ({
    asked: askedOf(spending),
    times,
  }));
  const first = answered.length - (vector.last ?? 0); // of those that are added last
  const total = totalOf(answered.slice(0, first), answered.slice(first));
  /** @param {Record<string, any>} expected @param {(at: number) => number} value */
  const at = (expected, value) => {
    return Object.fromEntries(Object.keys(expected).map((key) => [key, value(Number(key))]));
  };
  const bound = vector.by_results && momentBound(vector.by_results.limit);
  return {
    delta_at: at(vector.delta_at, total.delta),
    epsilon_at: at(vector.epsilon_at, (most) => {
      const found = total.epsilon(most);
      return found === Infinity ? null : found;
    }),
    reached: bound ? bound.reached(answered) : null,
  };
}

/** @param {string[]} limit */
function momentBound(limit) {
  const [epsilon, delta] = limit.map(Number);
  return new MomentBound({ epsilon, delta });
}

/** @param {any} vector */
function* wrong(vector) {
  const found = computed(vector);
  for (const field of /** @type {const} */ (["delta_at", "epsilon_at"])) {
    for (const [key, expected] of Object.entries(vector[field])) {
      const value = /** @type {Record<string, any>} */ (found[field])[key];
      if (!agree(value, expected)) yield `${field} ${key} is ${value}, not ${expected}`;
    }
  }
  const { reached } = vector.by_results;
  if (!agree(found.reached, reached)) yield `reached is ${found.reached}, not ${reached}`;
}

/** @param {number | null} one @param {number | null} other */
function agree(one, other) {
  if (one === null || other === null) return one === other;
  return Math.abs(one - other) <= Math.max(CLOSE * other, NOTHING);
}

/**
 * @param {(path: string) => Promise<any>} load
 * @returns {Promise<{name: string, error?: string}[]>}
 */
export async function check(load) {
  const vectors = await load("budgets.json");
  return vectors.map((/** @type {any} */ vector) => {
    const name = `budgets.json: ${vector.name}`;
    try {
      const found = [...wrong(vector)];
      return found.length ? { name, error: found.join("\n") } : { name };
    } catch (error) {
      return { name, error: String(/** @type {Error} */ (error).stack) };
    }
  });
}
