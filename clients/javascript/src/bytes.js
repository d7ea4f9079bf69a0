// Bytes: one after another, as numbers, as hexadecimal digits, and their fingerprint.

/**
 * Bytes one after another.
 * @param {Uint8Array[]} parts
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function joined(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * Whether they are the same.
 * @param {Uint8Array} one
 * @param {Uint8Array} other
 */
export function equal(one, other) {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

/**
 * A whole number in so many bytes, the largest first.
 * @param {number | bigint} number
 * @param {number} width
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function bigEndian(number, width) {
  return fromHexadecimal(BigInt.asUintN(8 * width, BigInt(number)).toString(16).padStart(2 * width, "0"));
}

/**
 * Their SHA-256.
 * @param {Uint8Array} content
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function sha256(content) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", /** @type {Uint8Array<ArrayBuffer>} */ (content)));
}

/**
 * Their SHA-256 in hexadecimal digits.
 * @param {Uint8Array} content
 */
export async function fingerprint(content) {
  return toHexadecimal(await sha256(content));
}

/**
 * Whether a text is 64 hexadecimal digits in small letters: as many as a SHA-256 or a public key has.
 * @param {string} text
 */
export function isHexadecimal(text) {
  return /^[0-9a-f]{64}$/.test(text);
}

/**
 * The bytes of hexadecimal digits.
 * @param {string} text
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function fromHexadecimal(text) {
  return Uint8Array.from({ length: text.length / 2 }, (_, at) => Number.parseInt(text.slice(2 * at, 2 * at + 2), 16));
}

/**
 * Bytes as hexadecimal digits in small letters.
 * @param {Uint8Array} bytes
 */
export function toHexadecimal(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
