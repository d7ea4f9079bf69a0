/**
 * The one spelling of a JSON value, of which a task's id is the SHA-256: names sorted, no spaces, text as UTF-8 in its
 * own code points with as few escapes as JSON allows. Those of JSON.stringify are these: \b \t \n \f \r \" \\, and
 * \u00xx in small digits for other control characters.
 * @param {unknown} value strings, whole numbers, true, false, null, lists and objects
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function canonicalBytes(value) {
  return new TextEncoder().encode(spelled(value));
}

/**
 * @param {unknown} value
 * @returns {string}
 */
function spelled(value) {
  if (Array.isArray(value)) return `[${value.map(spelled).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const parts = Object.entries(value).sort(([one], [other]) => byCodePoints(one, other));
    return `{${parts.map(([name, part]) => `${JSON.stringify(name)}:${spelled(part)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

/**
 * As Python sorts text: sort() alone would go by UTF-16 units, in which U+1F4A9 comes before U+FF5E.
 * @param {string} one
 * @param {string} other
 */
export function byCodePoints(one, other) {
  const [ones, others] = [Array.from(one), Array.from(other)];
  for (let at = 0; at < Math.min(ones.length, others.length); at++) {
    const apart = Number(ones[at].codePointAt(0)) - Number(others[at].codePointAt(0));
    if (apart !== 0) return apart;
  }
  return ones.length - others.length;
}
