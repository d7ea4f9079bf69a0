/**
 * A series: one question that is asked again in every period, as a public file (docs/reference/wire-format.md).
 *
 * The tasks of all rounds follow from it: each holds the id of the series, and the series holds the keys of all rounds.
 * A person who pins the id of a series has pinned the tasks of all rounds. The guarantee `total` is for a person who
 * answers all of them: losses of the rounds add (curve/total.js).
 */

import { ASKER_FIELDS, askerFields, askerOf } from "./asker.js";
import { sha256, toHexadecimal } from "./bytes.js";
import { canonicalBytes } from "./canonical.js";
import { PROMISED_DELTA } from "./curve/rounding.js";
import { totalOf } from "./curve/total.js";
import { general, shareAtMost } from "./curve/words.js";
import { BrokenPromiseError, ParameterError, TaskError } from "./errors.js";
import { MOST_ROUNDS, SECOND_VERSION, checkServers, momentInText, readMoment } from "./figures.js";
import { readGuarantee } from "./guarantee.js";
import { checkPromise } from "./promise.js";
import { fieldsOf, guarantee, listOf, oneOf, servers, shared, whole } from "./schema.js";
import { strengthOf } from "./strength.js";
import { Task, checkedTask, parsed } from "./task.js";

/** @typedef {import("./figures.js").Place} Place */
/** @typedef {import("./promise.js").CheckedPromise} CheckedPromise */

/** The versions of series files: one with a field about who asks has the second one. */
const VERSION = 1;
const SECOND_SERIES_VERSION = 2;

/** One round is no series. */
const FEWEST_ROUNDS = 2;

/** The longest period in seconds: ten years. */
const LONGEST_PERIOD = 3660 * 86_400;

/** Times in files have years of four digits. */
const LAST_MOMENT = Date.UTC(10000, 0, 1);

/** Refuses a series with an unknown or a missing field, or one of another kind. */
const checkForm = fieldsOf(
  {
    ...shared,
    kind: oneOf("series"),
    total: guarantee,
    period: whole,
    rounds: whole,
    servers: listOf(fieldsOf(servers)),
  },
  { optional: [...ASKER_FIELDS], of: "a series" },
);

/** A question that is asked in several rounds without a gap. `readSeries` makes them. */
export class Series {
  #plain;
  #first;
  /** @type {Map<number, Promise<Task>>} */
  #tasks = new Map();

  /**
   * @param {any} plain the file in its form
   * @param {Uint8Array<ArrayBuffer>} canonical
   * @param {Uint8Array<ArrayBuffer>} id
   * @param {Task} first the task of the first round, whose privacy is that of every round
   */
  constructor(plain, canonical, id, first) {
    this.#plain = plain;
    this.#first = first;
    this.canonical = canonical;
    /** The SHA-256 of the canonical bytes. */
    this.id = id;
    /** The id in hexadecimal digits. */
    this.name = toHexadecimal(id);
    /** @type {number} */
    this.version = plain.version;
    /** @type {string} */
    this.question = plain.question;
    const { asker, purpose, contact, language } = askerOf(plain);
    /** Who asks, as the file says, and what for; null where it does not say. */
    this.asker = asker;
    this.purpose = purpose;
    /** A mail address, or an address with https. */
    this.contact = contact;
    /** A tag of BCP 47. */
    this.language = language;
    /** The claimed guarantee of all rounds together, as the file has it. @type {{epsilon: string, delta: string}} */
    this.claim = plain.total;
    /** The claimed guarantee of all rounds together; `check` computes whether it is true. */
    this.guarantee = readGuarantee(plain.total);
    /** The number of rounds. @type {number} */
    this.rounds = plain.rounds;
    /** The seconds of each round. @type {number} */
    this.period = plain.period;
    this.opens = first.opens;
    this.closes = opensAt(plain, plain.rounds + 1);
  }

  /**
   * Return the time at which a round opens, and the round before it closes.
   * @param {number} number
   */
  opensAt(number) {
    return opensAt(this.#plain, number);
  }

  /**
   * Return the number of the round that is open at a time; null if none is.
   * @param {number | Date} now in milliseconds since 1970, as Date.now gives it
   */
  roundAt(now) {
    const since = Number(now) - this.opens.getTime();
    if (!(since >= 0 && Number(now) < this.closes.getTime())) return null;
    return Math.floor(since / (this.period * 1000)) + 1;
  }

  /**
   * Return the task of a round, from 1 on.
   * @param {number} number
   * @returns {Promise<Task>}
   */
  async task(number) {
    if (!Number.isInteger(number) || number < 1 || number > this.rounds) {
      throw new ParameterError(`round must be from 1 to ${this.rounds}, got ${number}`);
    }
    if (number === 1) return this.#first;
    const made = this.#tasks.get(number) ?? checkedTask(roundOf(this.#plain, this.name, number));
    this.#tasks.set(number, made);
    return made;
  }

  /**
   * Refuse a task that is not exactly the round of this series that it says.
   * @param {Task} task
   */
  async checkRound(task) {
    const { series } = task;
    const known = series !== null && series.id === this.name && series.round <= this.rounds;
    if (known && (await this.task(series.round)).name === task.name) return;
    throw new BrokenPromiseError(`the task ${task.name} is no round of the series ${this.name}: do not answer`);
  }

  /**
   * Return the privacy of one round and of all rounds together; refuse a series that is weaker than it claims, or of
   * which all rounds together are weaker than the (epsilon, delta) that a person allows.
   * @param {readonly [number, number]} [atMost]
   * @returns {{round: CheckedPromise, total: CheckedPromise}}
   */
  check(atMost) {
    const round = checkPromise(this.#first);
    const curve = totalOf([{ asked: this.#first, times: this.rounds }]);
    const { epsilon, delta } = this.guarantee;
    const reached = curve.delta(epsilon);
    // the condition is what must hold, so that a value that is not a number is refused
    if (!(reached <= delta * (1 + PROMISED_DELTA))) {
      throw new BrokenPromiseError(
        `the series claims delta=${general(delta)} at epsilon=${general(epsilon)} for all ${this.rounds} rounds ` +
          `together, but its parameters give ${shareAtMost(reached)}, which is weaker`,
      );
    }
    if (atMost !== undefined) {
      const allowed = curve.delta(atMost[0]);
      if (!(allowed <= atMost[1] * (1 + PROMISED_DELTA))) {
        throw new BrokenPromiseError(
          `all ${this.rounds} rounds together give delta=${shareAtMost(allowed)} at epsilon=${general(atMost[0])}, ` +
            `which is more than the ${general(atMost[1])} that is allowed here`,
        );
      }
    }
    return { round, total: { epsilon, delta, reached, exact: false, strength: strengthOf(epsilon, delta) } };
  }
}

/**
 * Return the series that a text or its bytes hold; refuse one that is not as the wire format says.
 * @param {string | Uint8Array | ArrayBuffer | Series} source
 * @returns {Promise<Series>}
 */
export async function readSeries(source) {
  return source instanceof Series ? source : seriesOfJson(parsed(source));
}

/**
 * Return the series that JSON holds.
 * @param {any} plain
 * @returns {Promise<Series>}
 */
export async function seriesOfJson(plain) {
  checkForm(plain, "");
  await checkSeriesFigures(plain);
  const canonical = canonicalBytes(plain);
  const id = await sha256(canonical);
  const series = new Series(plain, canonical, id, await checkedTask(roundOf(plain, toHexadecimal(id), 1)));
  Object.freeze(series);
  return series;
}

/**
 * Return the time at which a round of a series opens, and the round before it closes.
 * @param {any} plain @param {number} number
 */
function opensAt({ opens, period }, number) {
  return new Date(readMoment(opens, "opens").getTime() + (number - 1) * period * 1000);
}

/**
 * Return the JSON of the task of a round.
 * @param {any} plain @param {string} name @param {number} number
 */
function roundOf(plain, name, number) {
  const { kind, total, period, rounds, servers, ...shared } = plain;
  return {
    ...shared,
    version: SECOND_VERSION,
    opens: momentInText(opensAt(plain, number)),
    closes: momentInText(opensAt(plain, number + 1)),
    ...servers[servers.length === 1 ? 0 : number - 1],
    series: { id: name, round: number },
  };
}

/**
 * @param {number} version
 * @param {string[]} added the fields that only the second version has
 */
function checkVersion(version, added) {
  if (version !== VERSION && version !== SECOND_SERIES_VERSION) {
    throw new TaskError(`version must be ${VERSION} or ${SECOND_SERIES_VERSION}, got a series of version ${version}`);
  }
  if (version === VERSION && added.length > 0) {
    throw new TaskError(`a series of version 1 has no field \`${added[0]}\`: a series with it has version 2`);
  }
  if (version === SECOND_SERIES_VERSION && added.length === 0) {
    throw new TaskError(
      `a series of version 2 must have one of the fields ${ASKER_FIELDS.join(", ")}; without any it has version 1`,
    );
  }
}

/**
 * Refuses figures that are out of range, and servers that cannot be those of a round.
 * @param {any} plain a series in its form
 */
async function checkSeriesFigures(plain) {
  const { version, rounds, period, servers } = plain;
  checkVersion(version, askerFields(plain));
  if (rounds < FEWEST_ROUNDS || rounds > MOST_ROUNDS) {
    throw new TaskError(`rounds must be from ${FEWEST_ROUNDS} to ${MOST_ROUNDS}, got ${rounds}`);
  }
  if (period < 1 || period > LONGEST_PERIOD) {
    throw new TaskError(`period must be from one second to ten years, in seconds, got ${period}`);
  }
  if (plain.time_precision > period) {
    throw new TaskError("time_precision must be at most the period: the time of a report lies in its round");
  }
  if (servers.length !== 1 && servers.length !== rounds) {
    throw new TaskError(
      `servers must have one entry for all rounds or one for each of ${rounds}, got ${servers.length}`,
    );
  }
  if (!(opensAt(plain, rounds + 1).getTime() < LAST_MOMENT)) {
    throw new TaskError("the last round must end before the year 10000");
  }
  for (const [at, { shufflers, analyzer }] of servers.entries()) {
    try {
      await checkServers(shufflers, analyzer);
    } catch (error) {
      throw error instanceof TaskError ? new TaskError(`servers[${at}]: ${error.message}`) : error;
    }
  }
}
