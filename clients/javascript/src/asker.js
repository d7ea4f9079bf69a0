// Who asks a question: fields of a task or a series that are claims of the file, and that nothing proves. The rules name
// characters, so that every program accepts the same ones in every version of Unicode.
import { checkAddress } from "./addresses.js";
import { TaskError } from "./errors.js";
import { shown } from "./exact.js";
import { trimmed } from "./texts.js";

/** @typedef {{asker: string | null, purpose: string | null, contact: string | null, language: string | null}} Asker */

export const ASKER_FIELDS = Object.freeze(["asker", "purpose", "contact", "language"]);

const LONGEST_ASKER = 200;
const LONGEST_PURPOSE = 1000;

/** The longest mail address (RFC 5321), and the longest tag of a language that programs must store (BCP 47). */
const LONGEST_CONTACT = 254;
const LONGEST_LANGUAGE = 35;

/** Control characters, ends of lines, and marks that turn the direction of the text around them. */
const NOT_SHOWN = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/;

/** A mail address in characters that a link can hold as they are. */
const MAIL = /^[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/;

/** A tag of BCP 47 without extensions, in the one spelling that it recommends: de, pt-BR, zh-Hant, ca-valencia. */
const LANGUAGE = /^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?(-([a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*$/;

/**
 * The names of the fields that a file has.
 * @param {any} plain
 */
export function askerFields(plain) {
  return ASKER_FIELDS.filter((name) => Object.hasOwn(plain, name));
}

/**
 * The fields of a file; null for each that it does not have.
 * @param {any} plain
 * @returns {Asker}
 */
export function askerOf({ asker = null, purpose = null, contact = null, language = null }) {
  return { asker, purpose, contact, language };
}

/**
 * Refuses a field that is empty, too long, or has another form.
 * @param {any} plain
 */
export function checkAsker(plain) {
  const { asker, purpose, contact, language } = askerOf(plain);
  checkLine("asker", asker, LONGEST_ASKER);
  checkLine("purpose", purpose, LONGEST_PURPOSE);
  if (contact !== null) checkContact(contact);
  if (language !== null && (language.length > LONGEST_LANGUAGE || !LANGUAGE.test(language))) {
    throw new TaskError(`language must be a tag such as de, pt-BR or zh-Hant (BCP 47), got ${shown(language)}`);
  }
}

/**
 * @param {string} name
 * @param {string | null} text
 * @param {number} longest
 */
function checkLine(name, text, longest) {
  if (text === null) return;
  const length = Array.from(text).length;
  if (length < 1 || length > longest) {
    throw new TaskError(`${name} must have 1 to ${longest.toLocaleString("en")} characters, got ${length}`);
  }
  if (trimmed(text) !== text) throw new TaskError(`${name} must not begin or end with a space`);
  if (NOT_SHOWN.test(text)) {
    throw new TaskError(`${name} must be one line of printable characters, got ${shown(text)}`);
  }
}

/** @param {string} contact */
function checkContact(contact) {
  const length = Array.from(contact).length;
  if (length > LONGEST_CONTACT) {
    throw new TaskError(`contact must have at most ${LONGEST_CONTACT} characters, got ${length}`);
  }
  if (contact.startsWith("https://")) checkAddress(contact, "the contact");
  else if (!MAIL.test(contact)) {
    throw new TaskError(`contact must be a mail address or an address with https://, got ${shown(contact)}`);
  }
}
