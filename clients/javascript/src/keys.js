import { ShuffledpError } from "./errors.js";

/** Of all keys of tasks, as the wire format says. */
const ALGORITHM = { name: "X25519" };

/** Of the curve's coordinates; larger numbers would be second spellings of the same keys. */
const FIELD = 2n ** 255n - 19n;

/** @type {Promise<CryptoKeyPair> | undefined} */
let anyPair;

/**
 * Whether 32 bytes are a public key in its one spelling, and none of the few points of low order to which nothing can
 * be sealed. WebCrypto must refuse an exchange that gives zeros, and with a point of low order every exchange does:
 * private keys are multiples of 8 once they are clamped, and 8 is a multiple of every low order.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @returns {Promise<boolean>}
 */
export async function isPublicKey(bytes) {
  const number = bytes.reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n); // little endian
  if (bytes.length !== 32 || number >= FIELD) return false;
  const { privateKey } = await pair();
  try {
    const key = await crypto.subtle.importKey("raw", bytes, ALGORITHM, false, []);
    const shared = await crypto.subtle.deriveBits({ ...ALGORITHM, public: key }, privateKey, 256);
    return new Uint8Array(shared).some((byte) => byte !== 0);
  } catch {
    return false;
  }
}

/** @returns {Promise<CryptoKeyPair>} */
async function pair() {
  try {
    anyPair ??= /** @type {Promise<CryptoKeyPair>} */ (crypto.subtle.generateKey(ALGORITHM, false, ["deriveBits"]));
    return await anyPair;
  } catch {
    anyPair = undefined;
    throw new ShuffledpError(
      "keys of X25519 cannot be used here: use a newer browser, and a page that came over https",
    );
  }
}
