// Makes text of a task safe to show. An invisible character, or one that changes the writing direction, could show one
// answer and count another: each is replaced, as in published results.

/** Invisible characters, except the space and two joiners that emojis and some scripts need. */
const UNSEEN = /(?![\u200c\u200d ])[\p{C}\p{Z}]/gu;

/** @param {string} text */
export function printable(text) {
  return text.replace(UNSEEN, "\ufffd");
}
