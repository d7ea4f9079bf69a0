import { TaskError } from "./errors.js";
import { shown } from "./exact.js";

/**
 * Scheme, who and where, and a path that means nothing to a shell; a question mark or a hash with nothing behind them
 * are no harm.
 */
const ADDRESS = /^https?:\/\/([^/?#]+)(?:\/[\w./%@+,:~-]*)?\??#?$/i;

/**
 * A host in characters that every reader of addresses takes as they are. What begins with xn-- stands for other letters,
 * and readers differ in which they allow.
 */
const NAME = /^(?!xn--)[a-z0-9_-]+(\.(?!xn--)[a-z0-9_-]+)*\.?$/i;

/** What a host ends with that browsers take for an IPv4 address, in one of its many spellings; and the usual one. */
const NUMBER = /(^|\.)([0-9]+|0x[0-9a-f]*)\.?$/i;
const IPV4 = /^(0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]{0,2})){3}$/;

const IPV6 = /^\[[0-9a-f:.]+\]$/i;

/**
 * Refuses what is no address of a server or of a file on one, or what readers could take for different ones.
 * @param {string} address
 * @param {string} name whose it is, for the error
 */
export function checkAddress(address, name) {
  const found = ADDRESS.exec(address);
  if (found !== null && found[1].includes("@")) {
    throw new TaskError(`the address of ${name} must not hold a name or a password: everybody reads it`);
  }
  if (found === null || /:0+$/.test(found[1])) {
    throw new TaskError(
      `the address of ${name} must be such as https://host:port, and a path must be of letters, digits and the ` +
        `characters ._~/%@+,:- only; got ${shown(address)}`,
    );
  }
  if (!isHost(found[1].replace(/:[0-9]*$/, ""))) {
    throw new TaskError(
      `the host in the address of ${name} must be a name of letters, digits, - and _, without xn--, or an IP address ` +
        `in its usual spelling; got ${shown(address)}`,
    );
  }
  if (!canBeAsked(address)) {
    throw new TaskError(`the address of ${name} must be such as https://host:port; got ${shown(address)}`);
  }
}

/** @param {string} address */
function canBeAsked(address) {
  try {
    return new URL(address).hostname !== "";
  } catch {
    return false;
  }
}

/** @param {string} host whose numbers may still be too large */
function isHost(host) {
  if (NUMBER.test(host)) return IPV4.test(host);
  return NAME.test(host) || IPV6.test(host);
}
