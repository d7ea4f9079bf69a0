import { ASKER_FIELDS } from "./asker.js";
import { TaskError } from "./errors.js";
import { shown } from "./exact.js";

/**
 * What a part of a task must be, in a function that refuses everything else.
 * @typedef {(part: any, path: string) => void} Form
 */

/** @param {any} part */
function kindOf(part) {
  if (part === null) return "nothing (null)";
  if (Array.isArray(part)) return "a list";
  const kinds = { string: "text", number: "a whole number", boolean: "true or false" };
  return kinds[/** @type {keyof typeof kinds} */ (typeof part)] ?? "an object with named fields";
}

/**
 * @param {string} wanted
 * @param {string} [of] the name of the whole file
 * @returns {Form}
 */
function plain(wanted, of = "a task") {
  return (part, path) => {
    if (kindOf(part) === wanted) return;
    if (path === "") throw new TaskError(`${of} must be ${wanted}, got ${kindOf(part)}`);
    throw new TaskError(`\`${path}\` must be ${wanted}, got ${kindOf(part)}`);
  };
}

const text = plain("text");
export const whole = plain("a whole number");
const object = plain("an object with named fields");
const list = plain("a list");

/**
 * A list of parts of one form.
 * @param {Form} form
 * @returns {Form}
 */
export function listOf(form) {
  return (part, path) => {
    list(part, path);
    part.forEach((/** @type {any} */ each, /** @type {number} */ at) => form(each, `${path}[${at}]`));
  };
}

/**
 * An object with exactly these fields, of which some may be missing.
 * @param {Record<string, Form>} fields
 * @param {{optional?: string[], of?: string}} [rest] the fields that may be missing, and the name of the whole file
 * @returns {Form}
 */
export function fieldsOf(fields, { optional = [], of = "a task" } = {}) {
  return (part, path) => {
    plain("an object with named fields", of)(part, path);
    for (const name of Object.keys(part)) {
      if (!Object.hasOwn(fields, name)) throw new TaskError(`\`${name.slice(0, 60)}\` is no field of ${placeOf(path, of)}`);
    }
    for (const [name, form] of Object.entries(fields)) {
      if (Object.hasOwn(part, name)) form(part[name], path === "" ? name : `${path}.${name}`);
      else if (!optional.includes(name)) throw new TaskError(`the field \`${name}\` of ${placeOf(path, of)} is missing`);
    }
  };
}

/** @param {string} path @param {string} of */
function placeOf(path, of) {
  return path === "" ? of : `\`${path}\``;
}

/**
 * One of a few words.
 * @param {...string} words
 * @returns {Form}
 */
export function oneOf(...words) {
  return (part, path) => {
    text(part, path);
    if (!words.includes(part)) throw new TaskError(`\`${path}\` must be ${inWords(words)}; got ${shown(part)}`);
  };
}

/** @param {readonly string[]} words */
function inWords(words) {
  return words.join(", ").replace(/, (?=[^ ]*$)/, " or ");
}

/**
 * An object whose field `kind` says which fields it has.
 * @param {Record<string, Record<string, Form>>} kinds
 * @returns {Form}
 */
function kindsOf(kinds) {
  const kind = oneOf(...Object.keys(kinds));
  return (part, path) => {
    object(part, path);
    if (!Object.hasOwn(part, "kind")) throw new TaskError(`the field \`kind\` of \`${path}\` is missing`);
    kind(part.kind, `${path}.kind`);
    fieldsOf({ kind, ...kinds[part.kind] })(part, path);
  };
}

const pieces = kindsOf({
  alphabet: { characters: text, width: whole },
  list: { values: listOf(text) },
});
const answers = kindsOf({
  list: { values: listOf(text) },
  range: { start: whole, stop: whole },
  "listed-at": { address: text, sha256: text, size: whole },
  text: {
    longest: whole,
    levels: whole,
    pieces,
    normalisation: listOf(oneOf("trim", "lower", "query", "slash")),
  },
  numbers: { edges: text, quantiles: listOf(text) },
  choices: { values: listOf(text), most: whole },
});
const server = fieldsOf({ address: text, key: text });
export const servers = { shufflers: listOf(server), analyzer: server };
export const guarantee = fieldsOf({ epsilon: text, delta: text });

/** The fields that a task and a series have. The parameters of the protocol are for parameters.js. */
export const shared = {
  version: whole,
  question: text,
  answers,
  protocol: fieldsOf({ name: text, parameters: object }),
  guarantee,
  users: whole,
  honest_users: whole,
  most_messages: whole,
  opens: text,
  time_precision: whole,
  admission: oneOf("anybody", "secret", "tokens"),
  ...Object.fromEntries(ASKER_FIELDS.map((name) => [name, text])),
};

/** Refuses a task with an unknown or a missing field, or one of another kind. */
export const checkForm = fieldsOf(
  { ...shared, closes: text, ...servers, series: fieldsOf({ id: text, round: whole }) },
  { optional: ["series", ...ASKER_FIELDS] },
);
