// Which report this visitor has pressed "send" for: only that one is sent without being asked again. It is known by the
// SHA-256 of what is sealed, so that nothing about the answer is in it.

/** @param {string} name of the task */
const key = (name) => `shuffledp-agreed-${name}`;

/** @param {string} name @returns {string | null} the SHA-256 of the report, if there is one */
export function agreed(name) {
  return attempt(() => localStorage.getItem(key(name))) ?? null;
}

/** @param {string} name @param {string} sha256 of the report */
export function noteAgreement(name, sha256) {
  attempt(() => localStorage.setItem(key(name), sha256));
}

/** @param {string} name */
export function forgetAgreement(name) {
  attempt(() => localStorage.removeItem(key(name)));
}

/** Storage may be forbidden: then the visitor is asked again. @template T @param {() => T} act */
function attempt(act) {
  try {
    return act();
  } catch {
    return undefined;
  }
}
