/** Whether a task keeps what it claims: computed from its parameters by the client, before a person answers. */

import { curveOf } from "./curve/curve.js";
import { general, shareAtMost } from "./curve/words.js";
import { chanceOfMore, deltaWithLimits, limitCost, seldomEnough } from "./curve/most_messages.js";
import { PROMISED_DELTA } from "./curve/rounding.js";
import { BrokenPromiseError } from "./errors.js";
import { strengthOf } from "./strength.js";

/** @typedef {import("./curve/curve.js").Asked} Asked */

/**
 * (epsilon, delta) as claimed, and the delta that the parameters reach at this epsilon, never below the truth; `exact`
 * says that `reached` is the truth but for rounding, otherwise it is an upper bound. `strength` is that of the claim.
 *
 * @typedef {{epsilon: number, delta: number, reached: number, exact: boolean, strength: import("./strength.js").Strength}}
 *   CheckedPromise
 */

/**
 * The promise of a task; refused where it is not kept, or is weaker than the (epsilon, delta) that somebody allows, or
 * where it would take too long to compute.
 *
 * @param {Asked} task
 * @param {readonly [number, number]} [atMost] within the limits of guarantee.js
 * @returns {CheckedPromise}
 */
export function checkPromise(task, atMost) {
  const { epsilon, delta } = task.guarantee;
  if (!(chanceOfMore(task) <= seldomEnough(delta))) {
    throw new BrokenPromiseError(
      `most_messages=${task.mostMessages} is too small: people would draw other messages than the privacy is ` +
        "computed for",
    );
  }
  const [curve, cost] = [curveOf(task), limitCost([{ asked: task, times: 1 }])];
  const reached = deltaWithLimits(cost, curve.delta, epsilon);
  // asked for what must hold, so that something that is not a number is refused
  if (!(reached <= delta * (1 + PROMISED_DELTA))) {
    throw new BrokenPromiseError(
      `the task claims delta=${general(delta)} at epsilon=${general(epsilon)}, but its parameters give ` +
        `${shareAtMost(reached)}, which is weaker`,
    );
  }
  if (atMost !== undefined) {
    const allowed = deltaWithLimits(cost, curve.delta, atMost[0]);
    if (!(allowed <= atMost[1] * (1 + PROMISED_DELTA))) {
      throw new BrokenPromiseError(
        `the task gives delta=${shareAtMost(allowed)} at epsilon=${general(atMost[0])}, which is more than the ` +
          `${general(atMost[1])} that is allowed here`,
      );
    }
  }
  return { epsilon, delta, reached, exact: curve.exact, strength: strengthOf(epsilon, delta) };
}
