// A client checks the promise itself, and answers a task once, whatever happens in between. In Node and in browsers.
import { REASONS } from "../src/reasons.js";
import { inNode } from "../src/requests.js";
import { openReport, privateKey } from "./opening.js";
import { answering, outcomes, problem, same, sameBytes, thrown } from "./client_checks.js";

const package_ = await import(inNode() ? "../src/node.js" : "../src/index.js");
const { AT_MOST, BrokenPromiseError, Client, DataError, IndexedDBJournal, ParameterError, RefusedError, TaskError } =
  package_;
const { UnreachableError, admissionOf, readTask } = package_;

const SAID_NO = "no";
const FINAL = Object.keys(REASONS).filter((reason) => REASONS[reason].again === SAID_NO);
const KEPT = Object.keys(REASONS).filter((reason) => REASONS[reason].again !== SAID_NO);
const ANSWER = "dark";

/** The answer of a server whose clock is right. */
function wrongTime(statuses, serverTime) {
  const document = { reason: "wrong-time", server_time: serverTime };
  return new Response(JSON.stringify(document), { status: statuses["wrong-time"] });
}

/** The entry of another person with the same answer. */
async function otherJournal({ task }, journal) {
  const client = await Client.open(task, { journal });
  await client.prepare(ANSWER);
  return journal.read(task.name);
}

/** Of a setting: texts of `tasks`, their `names` and `statuses` of reasons; `newJournal` gives that of a new person. */
const CHECKS = {
  // What is checked before anything else

  async "the promise is computed here"({ tasks, newJournal }) {
    const { promise } = await Client.open(tasks.small, { journal: newJournal() });
    same([promise.epsilon, promise.delta], [1, 1e-6], "the promise");
    if (!(promise.reached > 0 && promise.reached <= 1e-6)) throw new Error(`reached is ${promise.reached}`);
  },

  async "a task that gives less than it claims is refused"({ tasks, newJournal }) {
    const requests = answering();
    await thrown(BrokenPromiseError, /do not answer/, () => Client.open(tasks.weaker, { journal: newJournal() }));
    const read = await readTask(tasks.weaker);
    const loosely = () => Client.open(read, { journal: newJournal(), atMost: [9, 0.1] });
    await thrown(BrokenPromiseError, /do not answer/, loosely);
    same(requests.length, 0, "requests");
  },

  async "a task with texts that gives less than it claims is refused"({ tasks, newJournal }) {
    const { promise } = await Client.open(tasks.text, { journal: newJournal() });
    same([promise.epsilon, promise.delta, promise.exact], [1, 1e-6, false], "the promise");
    if (!(promise.reached > 9e-7 && promise.reached <= 1e-6)) throw new Error(`reached is ${promise.reached}`);
    const weaker = () => Client.open(tasks.weaker_text, { journal: newJournal() });
    await thrown(BrokenPromiseError, /do not answer/, weaker);
    const allowed = () => Client.open(tasks.text, { journal: newJournal(), atMost: [0.9, 1e-6] });
    await thrown(BrokenPromiseError, /allowed here/, allowed);
  },

  async "a person may allow less than the task claims"({ tasks, newJournal }) {
    const journal = newJournal();
    for (const atMost of [[1, 1e-6], [2, 1e-6], undefined]) await Client.open(tasks.small, { journal, atMost });
    for (const atMost of [[0.9, 1e-6], [1, 1e-9], [0.9, 1e-6]]) {
      await thrown(BrokenPromiseError, /allowed here/, () => Client.open(tasks.small, { journal, atMost }));
    }
  },

  async "who says nothing does not allow everything"({ tasks, newJournal }) {
    const journal = newJournal();
    same([...AT_MOST], [10, 0.01], "AT_MOST");
    const words = /atMost: \[1, 0\.9\]/;
    await thrown(BrokenPromiseError, words, () => Client.open(tasks.next_to_nothing, { journal }));
    await Client.open(tasks.next_to_nothing, { journal, atMost: [1, 0.9] });
  },

  async "limits, pins and times that are none are refused"({ tasks, newJournal }) {
    const journal = newJournal();
    const wrong = {
      atMost: [1, [1], [1, 2, 3], ["1", 1e-6], [0, 1e-6], [60, 0.5], [1, 1e-21], [1, 1], [Number.NaN, 1e-6], null],
      pin: ["", "x".repeat(64), "0".repeat(63), 5, null, new Uint8Array(32)],
      timeout: [0, -1, Infinity, Number.NaN, "10", true],
      journal: [5, {}, "", { read() {} }],
      Pin: ["0".repeat(64)],
    };
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        await thrown(ParameterError, new RegExp(name), () => Client.open(tasks.small, { journal, [name]: value }));
      }
    }
    await thrown(ParameterError, /options/, () => Client.open(tasks.small, null));
    for (const task of [undefined, null, 5, {}, []]) {
      await thrown(ParameterError, /task must be/, () => Client.open(task, { journal }));
    }
  },

  async "a pinned task is the only one that is answered"({ tasks, names, newJournal }) {
    const journal = newJournal();
    for (const pin of [names.small, names.small.toUpperCase()]) await Client.open(tasks.small, { journal, pin });
    await thrown(TaskError, /pinned: do not answer/, () => Client.open(tasks.other, { journal, pin: names.small }));
    for (const at of [0, 31, 63]) { // an attacker can make tasks until most digits are alike
      const pin = names.small.slice(0, at) + (names.small[at] === "0" ? "1" : "0") + names.small.slice(at + 1);
      await thrown(TaskError, /pinned: do not answer/, () => Client.open(tasks.small, { journal, pin }));
    }
  },

  async "a task at an address needs a pin and is checked against it"({ tasks, names, newJournal }) {
    const [journal, address] = [newJournal(), new URL("http://127.0.0.1:9/task.json")];
    const missing = new Response(null, { status: 404 });
    const requests = answering(new Response(tasks.other), new Response(tasks.small), missing);
    await thrown(ParameterError, /needs a pin/, () => Client.open(address, { journal }));
    same(requests.length, 0, "requests");
    const pin = names.small;
    await thrown(TaskError, /pinned/, () => Client.open(address, { journal, pin }));
    same((await Client.open(address, { journal, pin })).task.name, pin, "the task");
    await thrown(UnreachableError, /404/, () => Client.open(address, { journal, pin }));
    same(requests.map((request) => [request.method, request.credentials]), Array(3).fill(["GET", "omit"]), "requests");
    const other = new URL("ftp://127.0.0.1/task.json");
    await thrown(ParameterError, /http/, () => Client.open(other, { journal, pin }));
  },

  async "what goes wrong is said with what helps"({ tasks, names, newJournal }) {
    const [journal, address, pin] = [newJournal(), new URL("http://127.0.0.1:9/task.json"), names.small];
    const away = () => Promise.reject(new TypeError("failed to fetch"));
    const requests = answering(away, new Response("x".repeat(2 ** 16 + 1), { status: 400 }), away);
    const fetching = () => Client.open(address, { journal, pin });
    await thrown(UnreachableError, /task.json cannot be reached, the connection failed: try again later$/, fetching);
    const client = await Client.open(tasks.small, { journal });
    const tooLong = /longer than 65536 bytes: nothing is lost, send it again later$/;
    await thrown(UnreachableError, tooLong, () => client.send(ANSWER));
    const failed = /the connection failed: nothing is lost, send it again later$/;
    await thrown(UnreachableError, failed, () => client.sendKept());
    same(requests.length, 3, "requests");
  },

  async "only an open task is answered"({ tasks, newJournal }) {
    const journal = newJournal();
    const over = () => Client.open(tasks.closed, { journal });
    const closed = await thrown(RefusedError, /closed at 2021-01-01T00:00:00Z/, over);
    same(closed.reason, "closed", "the reason");
    const later = await thrown(UnreachableError, /opens at 2099/, () => Client.open(tasks.later, { journal }));
    same(later.reason, "not-yet-open", "the reason");
  },

  async "no report is made after closing, also by a client that was opened before"({ tasks, newJournal }) {
    const [journal, { now }] = [newJournal(), Date];
    const client = await Client.open(tasks.small, { journal });
    try {
      Date.now = () => client.task.closes.getTime() + 1000;
      await thrown(RefusedError, /was closed/, () => client.report("dark"));
    } finally {
      Date.now = now;
    }
    same(await journal.read(client.task.name), null, "the journal");
  },

  async "what admits somebody is shown only where it is asked for"({ tasks, newJournal }) {
    const requests = answering();
    const without = () => Client.open(tasks.tokens, { journal: newJournal() });
    await thrown(ParameterError, /only with a one-time token/, without);
    for (const admission of ["", " ", "-", "..", "=", "a b", "a\nb", "ü", 5]) {
      await thrown(ParameterError, /admission/, () => Client.open(tasks.tokens, { journal: newJournal(), admission }));
    }
    for (const task of [tasks.tokens, tasks.small]) {
      await (await Client.open(task, { journal: newJournal(), admission: "a-token" })).send(ANSWER);
    }
    same(requests.map((request) => request.headers.Authorization), ["Bearer a-token", undefined], "the header");
  },

  async "an admission that is given later is asked for before anything is made or sent"({ tasks, newJournal }) {
    const requests = answering();
    const client = await Client.open(tasks.tokens, { journal: newJournal(), admission: null });
    await thrown(ParameterError, /only with a one-time token/, () => client.send(ANSWER));
    same(await client.state(), "new", "the state");
    await client.prepare(ANSWER);
    await thrown(ParameterError, /only with a one-time token/, () => client.sendKept());
    for (const blank of ["", " ", "-", null, undefined]) {
      await thrown(ParameterError, /a one-time token/, () => client.admit(blank));
    }
    same(requests.length, 0, "requests");
    client.admit("a-token");
    await client.sendKept();
    same(requests.map((request) => request.headers.Authorization), ["Bearer a-token"], "the header");
  },

  async "a link pins its task and holds what admits its person"({ tasks, names, newJournal }) {
    const asked = JSON.parse(tasks.tokens);
    const link = `http://127.0.0.1:9/some/ask/${names.tokens}#token=a-token`;
    const requests = answering(new Response(tasks.tokens), new Response(null, { status: 201 }));
    const client = await Client.open(new URL(link), { journal: newJournal() });
    await client.send(ANSWER);
    const sentTo = `${asked.shufflers[0].address}/v1/tasks/${names.tokens}/reports`;
    same(requests.map((request) => request.address), [`http://127.0.0.1:9/some/v1/tasks/${names.tokens}`, sentTo], "addresses");
    same(requests.map((request) => request.headers.Authorization), [undefined, "Bearer a-token"], "the header");
    answering(new Response(tasks.small));
    const other = () => Client.open(new URL(link), { journal: newJournal() });
    await thrown(TaskError, /do not answer/, other);
    answering(new Response(tasks.tokens));
    const pinned = () => Client.open(new URL(link), { journal: newJournal(), pin: names.small });
    await thrown(TaskError, /do not answer/, pinned);
    answering(new Response(tasks.tokens));
    const twice = () => Client.open(new URL(link), { journal: newJournal(), admission: "b" });
    await thrown(ParameterError, /not in both/, twice);
    answering(new Response(tasks.tokens));
    const without = () => Client.open(new URL(link.replace(/#.*/, "")), { journal: newJournal() });
    await thrown(ParameterError, /only with a one-time token/, without);
  },

  async "what admits a person is read from a link"() {
    const page = `https://a.example/ask/${"a".repeat(64)}`;
    same(admissionOf(`${page}#token=a.b_c~d-e`), "a.b_c~d-e", "a token");
    same(admissionOf(new URL(`${page}#token=a+b/c==`)), "a+b/c==", "a token with other signs");
    same(admissionOf(`${page}#token=a%2Bb%3D`), "a+b=", "an escaped token");
    for (const none of [page, `${page}#`, `${page}#top`, `${page}#tokens=a`, `${page}?token=a`]) {
      same(admissionOf(none), null, none);
    }
    for (const wrong of ["#token=", "#token", "#token=-", "#token=%20", "#token=%", "#token=a b", "#token=\u00fc"]) {
      const error = await thrown(ParameterError, /copy it as a whole/, async () => admissionOf(page + wrong));
      if (wrong.length > 9 && error.message.includes(wrong.slice(7))) throw new Error(error.message);
    }
    await thrown(ParameterError, /link must be an address/, async () => admissionOf("a"));
  },

  // Once

  async "the journal is written before the first byte is sent"({ tasks, newJournal }) {
    const client = await Client.open(tasks.small, { journal: newJournal() });
    const seen = [];
    const requests = answering(async () => {
      seen.push(await client.journal.read(client.task.name));
      return new Response(null, { status: 201 });
    });
    same(await client.state(), "new", "the state");
    const receipt = await client.send(ANSWER);
    same(seen[0]?.state, "ready", "the entry");
    sameBytes(seen[0].report, requests[0].body);
    same([receipt.state, receipt.bytes, receipt.madeBefore], ["sent", requests[0].body.length, false], "the receipt");
    const address = `${client.task.shufflers[0].address}/v1/tasks/${client.task.name}/reports`;
    same([requests[0].address, requests[0].method], [address, "POST"], "the request");
    same((await client.journal.read(client.task.name)).report.length, 0, "bytes that are left");
    same(await client.state(), "sent", "the state");
  },

  async "a request says nothing about its sender"({ tasks, newJournal }) {
    const requests = answering();
    await (await Client.open(tasks.small, { journal: newJournal() })).send(ANSWER);
    const [{ credentials, redirect, cache, referrerPolicy, signal, headers }] = requests;
    same([credentials, redirect, cache, referrerPolicy], ["omit", "manual", "no-store", "no-referrer"], "the request");
    same([signal instanceof AbortSignal, headers["Accept-Language"]], [true, "*"], "the request");
  },

  async "what was sent is not sent again"({ tasks, newJournal }) {
    const journal = newJournal();
    const requests = answering();
    await (await Client.open(tasks.small, { journal })).send(ANSWER);
    const again = await Client.open(tasks.small, { journal });
    const receipt = await again.send("light");
    same([receipt.state, receipt.bytes, receipt.madeBefore], ["already sent", 0, true], "the receipt");
    same((await again.sendKept()).state, "already sent", "the receipt");
    same(requests.length, 1, "requests");
    await thrown(DataError, /sent already/, () => again.report(ANSWER));
    await thrown(DataError, /sent already/, () => again.prepare(ANSWER));
  },

  async "a retry sends the same bytes"({ tasks, newJournal, statuses }) {
    const journal = newJournal();
    const failed = (reason) => problem(reason, statuses[reason]);
    const requests = answering(failed("unavailable"), failed("too-many-requests"), failed("not-yet-open"));
    const sending = async () => (await Client.open(tasks.small, { journal })).send(ANSWER);
    const first = await thrown(UnreachableError, /lost/, sending);
    if (/was not/.test(first.message)) throw new Error(first.message);
    await thrown(UnreachableError, /answer that was given now was not/, async () =>
      (await Client.open(tasks.small, { journal })).send("light"),
    );
    const client = await Client.open(tasks.small, { journal });
    await thrown(UnreachableError, /again later$/, () => client.sendKept());
    same(await client.state(), "ready", "the state");
    const receipt = await client.sendKept();
    same([receipt.state, receipt.madeBefore], ["sent", true], "the receipt");
    for (const { body } of requests) sameBytes(body, requests[0].body);
    same(requests.length, 4, "requests");
  },

  async "a refused time is replaced, and nothing else"({ tasks, newJournal, statuses, key }) {
    const journal = newJournal();
    const [{ now }, days] = [Date, 2 * 86_400];
    try {
      Date.now = () => now() + 1000 * days;
      const client = await Client.open(tasks.small, { journal });
      const step = client.task.timePrecision;
      const serverTime = Math.floor(now() / 1000 / step) * step;
      const requests = answering(wrongTime(statuses, serverTime));
      const receipt = await client.send(ANSWER);
      same([receipt.state, receipt.clockAhead], ["sent", days], "the receipt");
      const opening = await privateKey(key);
      const [first, second] = await Promise.all(requests.map(({ body }) => openReport(client.task, body, opening)));
      same(second.reportId, first.reportId, "the id");
      same(second.onions.map(String), first.onions.map(String), "onions");
      const opens = client.task.opens.getTime() / 1000;
      same([first.time, second.time], [serverTime + days, opens - (opens % step)], "times");
    } finally {
      Date.now = now;
    }
    same(await (await Client.open(tasks.small, { journal })).state(), "sent", "the state");
  },

  async "a fallback whose answer was lost counts as sent"({ tasks, newJournal, statuses }) {
    const failed = (reason) => problem(reason, statuses[reason]);
    const requests = answering(wrongTime(statuses), failed("unavailable"), failed("other-bytes"));
    const client = await Client.open(tasks.small, { journal: newJournal() });
    await thrown(UnreachableError, /lost/, () => client.send(ANSWER));
    const receipt = await client.sendKept();
    same([receipt.state, receipt.clockAhead], ["sent", null], "the receipt");
    same(requests.length, 4, "requests");
    sameBytes(requests[2].body, requests[0].body);
    sameBytes(requests[3].body, requests[1].body);
  },

  async "a report that was taken before the server's clock was set back is kept"({ tasks, newJournal, statuses }) {
    const requests = answering(wrongTime(statuses), problem("other-bytes", statuses["other-bytes"]));
    const client = await Client.open(tasks.small, { journal: newJournal() });
    const error = await thrown(UnreachableError, /lost/, () => client.send(ANSWER));
    same([error.reason, await client.state()], ["wrong-time", "ready"], "what is kept");
    same((await client.sendKept()).state, "sent", "the receipt");
    sameBytes(requests[2].body, requests[0].body);
  },

  async "a time that the server does not say is ignored"({ tasks, newJournal, statuses }) {
    for (const wrong of ["x", -1, true, 1.5, 1e15, null]) {
      answering(wrongTime(statuses, wrong));
      const client = await Client.open(tasks.small, { journal: newJournal() });
      same((await client.send(ANSWER)).clockAhead, 0, String(wrong));
    }
  },

  async "a report of an earlier version says when it can be sent"({ tasks, newJournal, statuses }) {
    const journal = newJournal();
    const { now } = Date;
    try {
      Date.now = () => now() + 2000 * 86_400;
      const client = await Client.open(tasks.small, { journal });
      const { report, spending } = await otherJournal(client, newJournal());
      await journal.keep(client.task.name, report, spending); // without a fallback
      const requests = answering(wrongTime(statuses, Math.floor(now() / 3.6e6) * 3600));
      const error = await thrown(UnreachableError, /clock is ahead by about 2 days: correct it/, () => client.sendKept());
      if (!error.message.includes(`can be sent from ${spending.day} on`)) throw new Error(error.message);
      await client.sendKept();
      sameBytes(requests[1].body, requests[0].body);
    } finally {
      Date.now = now;
    }
  },

  async "the second report is the first whatever the answer"({ tasks, newJournal }) {
    const journal = newJournal();
    const client = await Client.open(tasks.small, { journal });
    const prepared = await client.prepare(ANSWER);
    same([prepared.messages.length > 0, prepared.madeBefore], [true, false], "what was made");
    same(prepared.time % client.task.timePrecision, 0, "the time");
    const again = await (await Client.open(tasks.small, { journal })).prepare("light");
    same([again.messages, again.time, again.madeBefore], [null, null, true], "what is shown later");
    for (const value of [ANSWER, null, "light"]) sameBytes(await client.report(value), prepared.report);
    sameBytes(again.report, prepared.report);
    const other = await (await Client.open(tasks.small, { journal: newJournal() })).report(ANSWER);
    same(String(other) === String(prepared.report), false, "somebody else's report");
  },

  async "two calls at once make one report and send it once"({ tasks, newJournal }) {
    const client = await Client.open(tasks.small, { journal: newJournal() });
    const requests = answering();
    const receipts = await Promise.all([client.send(ANSWER), client.send("light"), client.send(ANSWER)]);
    same(receipts.map(({ state }) => state), ["sent", "already sent", "already sent"], "the receipts");
    same(requests.length, 1, "requests");
  },

  async "a call that fails does not stop the next"({ tasks, newJournal }) {
    const client = await Client.open(tasks.small, { journal: newJournal() });
    const requests = answering(new Response(null, { status: 502 }));
    const [failed, sent] = await Promise.allSettled([client.send(ANSWER), client.send(ANSWER)]);
    same([failed.status, sent.value?.state], ["rejected", "sent"], "the calls");
    sameBytes(requests[0].body, requests[1].body);
  },

  async "of many clients at once one makes the report"({ tasks, newJournal }) {
    const journal = newJournal();
    const clients = await Promise.all(Array.from({ length: 6 }, () => Client.open(tasks.small, { journal })));
    const made = await Promise.all(clients.map((client) => client.prepare(ANSWER)));
    same(made.filter(({ messages }) => messages !== null).length, 1, "those who made the report");
    for (const { report } of made) sameBytes(report, made[0].report);
    const requests = answering();
    await Promise.all(clients.map((client) => client.send(ANSWER)));
    for (const { body } of requests) sameBytes(body, made[0].report);
  },

  async "every answer has a place, and a call without one is a mistake"({ tasks, newJournal }) {
    const client = await Client.open(tasks.small, { journal: newJournal() });
    for (const call of ["send", "report", "prepare"]) {
      await thrown(ParameterError, /null for none/, () => client[call]());
    }
    same(await client.state(), "new", "the state");
    await thrown(DataError, /no report/, () => client.sendKept());
    const strange = [undefined, null, "", " ", "purple", 17, 2.5, Symbol("x"), { toString: null }, ["dark"], () => {}];
    for (const value of strange) {
      const { report } = await (await Client.open(tasks.small, { journal: newJournal() })).prepare(value);
      same(report.length > 72, true, "a report");
    }
  },

  // Answers of servers

  async "a refusal for good ends a report"({ tasks, newJournal, statuses }) {
    for (const reason of FINAL) {
      const client = await Client.open(tasks.small, { journal: newJournal() });
      const versions = reason === "other-bytes" ? 2 : 1; // a server that has other bytes may have those of the fallback
      const requests = answering(...Array.from({ length: versions }, () => problem(reason, statuses[reason])));
      for (let time = 0; time < 2; time += 1) {
        const error = await thrown(RefusedError, new RegExp(reason), () => client.send(ANSWER));
        same(error.reason, reason, "the reason");
      }
      await thrown(RefusedError, new RegExp(reason), () => client.report(ANSWER));
      same(requests.length, versions, "requests");
      same((await client.journal.read(client.task.name)).report.length, 0, "bytes that are left");
      same(await client.state(), "refused", "the state");
    }
  },

  async "after other refusals the same bytes are sent"({ tasks, newJournal, statuses }) {
    for (const reason of KEPT.filter((each) => each !== "wrong-time")) {
      const client = await Client.open(tasks.small, { journal: newJournal() });
      const requests = answering(problem(reason, statuses[reason]));
      const put_right = REASONS[reason].again === "once put right";
      const [kind, words] = put_right ? [RefusedError, /kept: send it again once/] : [UnreachableError, /lost/];
      const error = await thrown(kind, words, () => client.send(ANSWER));
      same([error.reason, await client.state()], [reason, "ready"], "what is left");
      if (statuses[reason] < 500 && !error.message.includes(REASONS[reason].meaning)) throw new Error(error.message);
      same((await client.send(ANSWER)).state, "sent", "the receipt");
      sameBytes(requests[0].body, requests[1].body);
    }
  },

  async "a server in trouble refuses nothing"({ tasks, newJournal }) {
    for (const reason of [...FINAL, "wrong-time"]) {
      const client = await Client.open(tasks.small, { journal: newJournal() });
      const requests = answering(problem(reason, 500));
      await thrown(UnreachableError, /status 500/, () => client.send(ANSWER));
      same(requests.length, 1, "requests");
      same(await client.state(), "ready", "the state");
    }
  },

  async "whatever is no answer of a shuffler loses nothing"({ tasks, newJournal }) {
    const client = await Client.open(tasks.small, { journal: newJournal() });
    const answers = [
      new Response("welcome, please log in", { status: 200 }),
      new Response(null, { status: 202 }),
      new Response(null, { status: 204 }),
      new Response(null, { status: 302 }),
      new Response("no such page", { status: 404 }),
      new Response(null, { status: 413 }), // of a proxy
      new Response("gone", { status: 410 }),
      new Response("not JSON {", { status: 400 }),
      new Response('["closed"]', { status: 410 }),
      new Response('{"reason": ["closed"]}', { status: 410 }),
      new Response('{"reason": "a reason of later days"}', { status: 400 }),
      new Response('{"reason": "constructor"}', { status: 400 }),
      new Response("null", { status: 400 }),
      new Response("[".repeat(60000), { status: 400 }),
      new Response("x".repeat(100000), { status: 400 }),
      Response.error(),
      () => Promise.reject(new TypeError("failed to fetch")),
    ];
    const number = answers.length;
    const requests = answering(...answers);
    for (let time = 0; time < number; time += 1) {
      const error = await thrown(UnreachableError, /nothing is lost/, () => client.send(ANSWER));
      same([error.reason, await client.state()], [null, "ready"], `after answer ${time} what is left`);
    }
    same((await client.send(ANSWER)).state, "sent", "the receipt");
    for (const { body } of requests) sameBytes(body, requests[0].body);
  },

  async "who waits too long sends the same bytes later"({ tasks, newJournal }) {
    const client = await Client.open(tasks.small, { journal: newJournal(), timeout: 0.05 });
    const never = ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const requests = answering(never);
    await thrown(UnreachableError, /in time/, () => client.send(ANSWER));
    same(await client.state(), "ready", "the state");
    same((await client.send(ANSWER)).state, "sent", "the receipt");
    sameBytes(requests[0].body, requests[1].body);
  },

  // Lists of answers that are kept elsewhere

  async "a list at an address is fetched when it is needed and checked"({ tasks, newJournal, list }) {
    const [journal, ok] = [newJournal(), (text) => new Response(text, { status: 200 })];
    const requests = answering(new Response(null, { status: 404 }), ok("dark\nlight\nother\n"), ok(list));
    const client = await Client.open(tasks.listed, { journal });
    same([requests.length, client.task.hasAnswers], [0, false], "what is there");
    await thrown(UnreachableError, /404/, () => client.prepare(ANSWER));
    await thrown(TaskError, /SHA-256/, () => client.prepare(ANSWER));
    same(await client.state(), "new", "the state");
    await client.prepare(ANSWER);
    same([client.task.placeOf("system"), client.task.placeOf("purple")], [2, 3], "places");
    same(requests.length, 3, "requests");
    same(requests[2].address, client.task.answers.address, "the address");
  },

  // Journals that fail

  async "a journal that cannot be used is no permission to answer"({ tasks, newJournal }) {
    const requests = answering();
    for (const broken of ["read", "keep"]) {
      const journal = newJournal();
      journal[broken] = async () => {
        throw new DataError("the journal is broken");
      };
      const client = await Client.open(tasks.small, { journal });
      await thrown(DataError, /is broken/, () => client.send(ANSWER));
    }
    same(requests.length, 0, "requests");
    const journal = newJournal();
    journal.settle = async () => {
      throw new DataError("the disk is full");
    };
    const client = await Client.open(tasks.small, { journal });
    await thrown(DataError, /is full; the report was taken/, () => client.send(ANSWER));
    sameBytes(await client.report("light"), requests[0].body);
  },

  async "entries are checked, and what is broken stays"({ tasks, newJournal, broken }) {
    for (let kind = 0; kind < 4; kind += 1) {
      const journal = newJournal();
      const client = await Client.open(tasks.small, { journal });
      await client.prepare(ANSWER);
      await broken(journal, client.task.name, kind);
      const requests = answering();
      for (const call of [() => client.send(ANSWER), () => client.sendKept(), () => client.state()]) {
        await thrown(DataError, /broken, so that nobody knows/, call);
      }
      await thrown(DataError, /broken/, () => journal.settle(client.task.name, "sent"));
      await thrown(DataError, /broken/, () => journal.keep(client.task.name, new Uint8Array(5)));
      same(requests.length, 0, "requests");
    }
  },

  async "what was entered first stays"({ newJournal }) {
    const [journal, name] = [newJournal(), "ab".repeat(32)];
    await journal.settle(name, "sent");
    same(await journal.read(name), null, "what is there");
    await journal.keep(name, new Uint8Array([1, 2, 3]));
    same([...(await journal.keep(name, new Uint8Array([4]))).report], [1, 2, 3], "what is kept");
    await journal.settle(name, "refused", "closed");
    await journal.settle(name, "sent");
    const { state, reason, report } = await journal.keep(name, new Uint8Array([4]));
    same([state, reason, report.length], ["refused", "closed", 0], "what is kept");
  },

  async "every text is sent, and what is counted of it is shown before"({ tasks, newJournal }) {
    for (const [answer, normalised, other] of [[" Home", "home", null], ["12", "12", "not-in-code"], [null, "", null]]) {
      const client = await Client.open(tasks.text, { journal: newJournal() });
      const { task } = client;
      same([task.normalised(answer), task.whyOther(answer)], [normalised, other], "what is counted");
      const { messages, report } = await client.prepare(answer);
      same(report.length, 72 + messages.length * task.onionLength(0), "bytes");
      const values = await task.valuesOf(normalised);
      const fitting = messages.map((message) => task.hashOf(message));
      const fits = ({ level, seed, bucket }) => task.family.bucket(seed, values[level]) === bucket;
      same(new Set(fitting.filter(fits).map(({ level }) => level)).size, task.levels, "levels with a message that fits");
      const requests = answering(new Response(null, { status: 201 }));
      same((await client.send(answer)).bytes, report.length, "bytes sent");
      same(requests.length, 1, "requests");
    }
  },

  async "without a database there is a clear error, and nothing is sent"({ tasks, inBrowser }) {
    const requests = answering();
    const there = Object.getOwnPropertyDescriptor(globalThis, "indexedDB");
    const of = (value) => Object.defineProperty(globalThis, "indexedDB", { value, configurable: true });
    const forbidden = () => {
      throw new DOMException("not here", "SecurityError");
    };
    for (const database of [undefined, { open: forbidden }]) {
      if (inBrowser || database) of(database);
      const words = /keeps nothing for this page .* not private/;
      await thrown(DataError, words, () => Client.open(tasks.small, { journal: new IndexedDBJournal() }));
      if (inBrowser) await thrown(DataError, words, () => Client.open(tasks.small));
    }
    if (there) Object.defineProperty(globalThis, "indexedDB", there);
    else delete globalThis.indexedDB;
    if (inBrowser) same((await Client.open(tasks.small)).journal instanceof IndexedDBJournal, true, "the usual one");
    same(requests.length, 0, "requests");
  },

  async "where nothing can be encrypted there is a clear error"({ tasks, newJournal }) {
    Object.defineProperty(crypto, "subtle", { value: undefined, configurable: true });
    try {
      await thrown(ParameterError, /https/, () => Client.open(tasks.small, { journal: newJournal() }));
    } finally {
      delete crypto.subtle;
    }
    same((await Client.open(tasks.small, { journal: newJournal() })).task.users, 200, "people");
  },
};

/** What failed, if anything did. */
export function check(setting) {
  return outcomes(CHECKS, setting);
}
