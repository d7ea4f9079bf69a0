// Many people's messages, one person after another:  node test/draws.mjs < ASKED > MESSAGES
// ASKED is a JSON list of {task, place, people}. Each person's messages are written in their order as one byte each (or
// as many as a message has), and 255s up to the length of the longest report.
import { readFileSync, writeSync } from "node:fs";
import { messagesOf } from "../src/randomizer.js";
import { readTask } from "../src/task.js";

for (const { task: plain, place, people } of JSON.parse(readFileSync(0, "utf8"))) {
  const task = await readTask(JSON.stringify(plain));
  const { symbolBytes } = task; // computed anew by every access
  const row = task.mostMessages * symbolBytes;
  const written = Buffer.alloc(people * row, 255);
  for (let person = 0; person < people; person++) {
    messagesOf(task, place).forEach((message, at) => {
      written.writeUIntBE(message, person * row + at * symbolBytes, symbolBytes);
    });
  }
  for (let at = 0; at < written.length; ) at += writeSync(1, written, at);
}
