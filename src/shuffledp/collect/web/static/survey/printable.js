// Words of a task as people see them. A mark that turns the direction of writing, or that nobody sees, would show one
// answer and count another: each is replaced, as it is where results are published.

/** What is not seen, but for the two that are parts of emojis and of words in some scripts, and the usual space. */
const UNSEEN = /(?![\u200c\u200d ])[\p{C}\p{Z}]/gu;

/** @param {string} text */
export function printable(text) {
  return text.replace(UNSEEN, "\ufffd");
}
