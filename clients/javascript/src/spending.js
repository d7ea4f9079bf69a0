// What one answer spends of a person's privacy: a record that journals keep, the same as in Python
// (shuffledp.collect.task.spending). The privacy of the answer follows from it without the task.
import { DataError } from "./errors.js";
import { readGuarantee } from "./guarantee.js";
import { readLaw } from "./parameters.js";
import { chanceOfMore } from "./curve/most_messages.js";

/**
 * The field names are those of the JSON file. `values` is the number of bins of the protocol, for texts the number of
 * symbols of their code. One person holds `values_per_person` of them.
 * @typedef {object} Spending
 * @property {string} question
 * @property {string} day in UTC, such as 2026-11-18
 * @property {{name: string, parameters: Record<string, any>}} protocol
 * @property {{epsilon: string, delta: string}} guarantee
 * @property {number} users
 * @property {number} honest_users
 * @property {number} values
 * @property {number} values_per_person
 * @property {number} most_messages
 * @property {{id: string, round: number} | null} series
 */

/**
 * One task in a journal; "claimed" if a client began to answer and did not finish. `spending` is null in entries of the
 * first version, which do not have it.
 * @typedef {{task: string, state: "ready" | "sent" | "refused" | "claimed", spending: Spending | null}} AnsweredTask
 */

const NUMBERS = /** @type {const} */ (["users", "honest_users", "values", "values_per_person", "most_messages"]);
const FIELDS = ["question", "day", "protocol", "guarantee", ...NUMBERS, "series"].sort().join();

/**
 * Return the record of an answer to a task, given today.
 * @param {import("./task.js").Task} task
 * @returns {Spending}
 */
export function spendingOf(task) {
  return {
    question: task.question,
    day: new Date().toISOString().slice(0, 10),
    protocol: { name: task.protocol.name, parameters: task.protocol.parameters },
    guarantee: { epsilon: task.claim.epsilon, delta: task.claim.delta },
    users: task.users,
    honest_users: task.honestUsers,
    values: task.code === null ? task.values : task.code.symbols,
    values_per_person: task.levels,
    most_messages: task.mostMessages,
    series: task.series && { id: task.series.id, round: task.series.round },
  };
}

/**
 * Whether something that was read has the form of a spending; `askedOf` checks whether its privacy can be computed.
 * @param {any} read
 * @returns {read is Spending}
 */
export function isSpending(read) {
  if (typeof read !== "object" || read === null || Object.keys(read).sort().join() !== FIELDS) return false;
  const { question, day, protocol, guarantee, series } = read;
  return (
    typeof question === "string" &&
    /^\d{4}-\d\d-\d\d$/.test(day) &&
    !Number.isNaN(Date.parse(day)) &&
    typeof protocol?.name === "string" &&
    typeof protocol.parameters === "object" &&
    protocol.parameters !== null &&
    typeof guarantee?.epsilon === "string" &&
    typeof guarantee.delta === "string" &&
    NUMBERS.every((name) => Number.isSafeInteger(read[name]) && read[name] >= 1) &&
    (series === null || (/^[0-9a-f]{64}$/.test(series?.id) && Number.isSafeInteger(series.round) && series.round >= 1))
  );
}

/**
 * Return what the privacy of an answer follows from, as curves and totals take it.
 * @param {Spending} spending
 * @returns {import("./curve/curve.js").Asked}
 */
export function askedOf(spending) {
  const asked = {
    users: spending.users,
    honestUsers: spending.honest_users,
    values: spending.values,
    levels: spending.values_per_person,
    mostMessages: spending.most_messages,
    guarantee: readGuarantee(spending.guarantee),
    law: readLaw(spending.protocol.name, spending.protocol.parameters),
  };
  if (asked.honestUsers > asked.users) throw new DataError("honest_users must be at most users");
  if (!(chanceOfMore(asked) < 1)) throw new DataError("its most_messages are too few");
  return asked;
}
