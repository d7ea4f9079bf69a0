// Texts as every program has to read them, whatever its own library takes for space.

/** The characters with the Unicode property White_Space; trim() has another one. */
const SPACE = /[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

/**
 * The text of an answer; null where an object has none, since not to report because of it would tell something.
 * @param {unknown} answer
 */
export function writtenAs(answer) {
  if (answer === null || answer === undefined) return "";
  try {
    return String(answer);
  } catch {
    return null;
  }
}

/**
 * A text without the characters with the property White_Space at both ends.
 * @param {string} text
 */
export function trimmed(text) {
  let [start, stop] = [0, text.length];
  while (start < stop && SPACE.test(text[start])) start += 1;
  while (stop > start && SPACE.test(text[stop - 1])) stop -= 1;
  return text.slice(start, stop);
}
