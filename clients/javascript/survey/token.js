// What a visitor shows to be let in: a secret or a one-time token, from the field or from an invitation link. The part of
// an address after # never reaches a server. It is kept for this tab until the report was taken or refused for good, so
// that a reload does not lose it.
import { admissionOf, isAdmission } from "../src/invitation.js";

const field = /** @type {HTMLInputElement | null} */ (document.getElementById("admission"));
const part = document.getElementById("admission-part");

export class Token {
  /** The token of an invitation link or of the field, also where storage is forbidden. @type {string | null} */
  #kept = null;

  /** @param {string} name of the task */
  constructor(name) {
    this.key = `shuffledp-token-${name}`;
    this.take();
  }

  /** Takes the token of an invitation link out of the address; returns whether there was one. */
  take() {
    const found = attempt(() => admissionOf(location.href)) ?? null;
    if (location.hash.startsWith("#token=")) {
      history.replaceState(history.state, "", location.pathname + location.search);
    }
    this.#kept = found ?? this.#kept;
    if (field !== null) {
      if (found !== null) this.#store(found);
      this.#show();
    }
    return found !== null;
  }

  /** Whether the task asks for one. */
  get needed() {
    return field !== null;
  }

  /** The token; null if there is none, or one that cannot be sent. */
  get text() {
    const text = this.typed || this.#stored() || "";
    return isAdmission(text) ? text : (attempt(() => inLink(new URL(text))) ?? null);
  }

  /** What is in the field. */
  get typed() {
    return field?.value.trim() ?? "";
  }

  /** The fragment of an invitation link, for the same page at another address. */
  get fragment() {
    const text = this.#stored();
    return text === null ? "" : `#token=${encodeURIComponent(text)}`;
  }

  /** Focuses the field. */
  ask() {
    this.#show();
    field?.setAttribute("aria-invalid", "true");
    field?.focus();
  }

  /** Keeps a typed token until the report was taken: the field is cleared with the answers. */
  keep() {
    if (this.text !== null) this.#store(this.text);
    field?.removeAttribute("aria-invalid");
  }

  /** Forgets it everywhere: it was used, or was wrong. */
  forget() {
    this.#kept = null;
    attempt(() => sessionStorage.removeItem(this.key));
    if (field !== null) field.value = "";
    this.#show();
  }

  /** The field is not shown to a visitor who came with a token. */
  #show() {
    if (part !== null) part.hidden = this.#stored() !== null;
  }

  #stored() {
    return this.#kept ?? attempt(() => sessionStorage.getItem(this.key)) ?? null; // the latter after a reload
  }

  /** @param {string} text */
  #store(text) {
    this.#kept = text;
    attempt(() => sessionStorage.setItem(this.key, text));
  }
}

/** The token of a link that was pasted, if it is one to this server. @param {URL} link */
function inLink(link) {
  return link.origin === location.origin ? admissionOf(link) : null;
}

/** @template T @param {() => T} act */
function attempt(act) {
  try {
    return act();
  } catch {
    return undefined;
  }
}
