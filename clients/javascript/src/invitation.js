// Links that invite a person: the page of a task with a token or a secret in the fragment of its address. Browsers send
// a fragment to no server.
import { ParameterError } from "./errors.js";

/** What can stand in the header (RFC 6750), with a letter or a digit: signs alone are what an empty field was made into. */
const TOKEN = /^(?=.*[A-Za-z0-9])[A-Za-z0-9._~+/-]{1,1000}=*$/;

const PAGE = /^(.+)\/ask\/(series\/)?([0-9a-f]{64})\/?$/;

/**
 * Whether a value can be a token or a secret.
 * @param {unknown} value
 * @returns {value is string}
 */
export function isAdmission(value) {
  return typeof value === "string" && TOKEN.test(value);
}

/**
 * The token or secret in the fragment of a link; null where the link has none.
 * @param {string | URL} link
 * @returns {string | null}
 */
export function admissionOf(link) {
  const [name, ...rest] = urlOf(link).hash.slice(1).split("=");
  if (name !== "token") return null;
  const admission = unescaped(rest.join("="));
  if (!isAdmission(admission)) {
    throw new ParameterError("the link has no token after #token=: it may be cut off, copy it as a whole");
  }
  return admission;
}

/**
 * What a link to the page of a task or of a series says: where its file is, its id, and what admits the person, if
 * anything; null for the address of anything else.
 * @param {URL} link
 */
export function invitationOf(link) {
  const found = PAGE.exec(link.origin + link.pathname);
  if (found === null) return null;
  const [, address, series, id] = found;
  return { file: new URL(`${address}/v1/${series ? "series" : "tasks"}/${id}`), id, admission: admissionOf(link) };
}

/** @param {string | URL} link */
function urlOf(link) {
  try {
    return new URL(link);
  } catch {
    throw new ParameterError("link must be an address such as https://host/ask/ID#token=...");
  }
}

/** Some programs escape signs in links. @param {string} text */
function unescaped(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
