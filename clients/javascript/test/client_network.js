// What tests of the client over a real network need; in Node and in browsers.
import { REASONS } from "../src/reasons.js";
import { inNode } from "../src/requests.js";

const { Client, IndexedDBJournal } = await import(inNode() ? "../src/node.js" : "../src/index.js");

/** What becomes of each of these calls of a client, one after another: its result, or the error's name and words. */
export async function calls(text, options, ...asked) {
  const journal = options.database ? new IndexedDBJournal(options.database) : options.folder;
  const { database, folder, ...rest } = options;
  const client = await Client.open(text, { ...rest, ...(journal ? { journal } : {}) });
  const results = [];
  for (const [name, ...given] of asked) {
    try {
      const result = await client[name](...given);
      if (result?.report) result.report = [...result.report];
      results.push(result instanceof Uint8Array ? [...result] : result);
    } catch (error) {
      results.push({ error: error.name, reason: error.reason ?? null, message: error.message });
    }
  }
  return results;
}

/** Everybody of a crowd answers, each with a journal of their own: the messages that they sent. */
export async function crowd(text, journals, answers, options = {}) {
  const recorded = [];
  for (const [at, answer] of answers.entries()) {
    const own = { ...options, ...journals[at] };
    const [prepared, receipt] = await calls(text, own, ["prepare", answer], ["send", answer]);
    if (receipt.state !== "sent") throw new Error(JSON.stringify(receipt));
    recorded.push(prepared.messages);
  }
  return recorded;
}

/** What a page can read of an address: its status and the beginning of its content, or that it cannot. */
export async function readable(address, request = {}) {
  try {
    const answer = await fetch(address, request);
    return { status: answer.status, text: (await answer.text()).slice(0, 300) };
  } catch (error) {
    return { error: error.name };
  }
}

/** What the client knows of refusals. */
export function reasons() {
  return REASONS;
}
