// Small tests that run in Node and in browsers, and a server that is only a function.

/** The errors of the checks that failed, by name. */
export async function outcomes(checks, ...given) {
  const found = [];
  for (const [name, run] of Object.entries(checks)) {
    const { fetch } = globalThis;
    try {
      await run(...given);
      found.push({ name });
    } catch (error) {
      found.push({ name, error: String(error?.stack ?? error) });
    } finally {
      globalThis.fetch = fetch;
    }
  }
  return found;
}

export function same(found, expected, what = "") {
  const [one, other] = [found, expected].map((value) => JSON.stringify(value));
  if (one !== other) throw new Error(`${what} is ${one}, not ${other}`);
}

export function sameBytes(one, other) {
  same([...one], [...other], "a report");
}

/** The error that a promise or a function throws, which must be of this kind and say this. */
export async function thrown(kind, words, work) {
  let error = null;
  try {
    await work();
  } catch (caught) {
    error = caught;
  }
  if (error === null) throw new Error(`nothing was thrown, and ${kind.name} was expected (${words})`);
  if (!(error instanceof kind) || !words.test(error.message)) {
    throw new Error(`${error.name} was thrown, not ${kind.name} (${words}): ${error.stack}`);
  }
  return error;
}

/** A problem document (RFC 9457). */
export function problem(reason, status) {
  const body = JSON.stringify({ type: `urn:shuffledp:${reason}`, status, reason });
  return new Response(body, { status, headers: { "Content-Type": "application/problem+json" } });
}

/**
 * Takes the place of the network: answers with what `script` holds, one for each request, then 201; a function is
 * called for its answer. Every request is recorded.
 */
export function answering(...script) {
  const requests = [];
  globalThis.fetch = async (address, request) => {
    requests.push({ address: String(address), ...request });
    const said = script.length ? script.shift() : new Response(null, { status: 201 });
    return typeof said === "function" ? said(request) : said;
  };
  return requests;
}
