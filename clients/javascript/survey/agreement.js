// Remembers for which report this visitor pressed "send": only that one is sent again without asking. It is identified
// by the SHA-256 of its encrypted bytes, which reveals nothing about the answer.

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

/** If storage is forbidden, the visitor is asked again. @template T @param {() => T} act */
function attempt(act) {
  try {
    return act();
  } catch {
    return undefined;
  }
}
