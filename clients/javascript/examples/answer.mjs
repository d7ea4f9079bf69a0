// Answers a task from Node:  node answer.mjs TASK.json ID ANSWER
import { readFile } from "node:fs/promises";
import { Client } from "shuffledp-client";

const [file, pin, answer, ...more] = process.argv.slice(2);
if (answer === undefined || more.length > 0) { // an answer that was left out would count for good
  console.error("usage: node answer.mjs TASK.json ID ANSWER");
  process.exit(2);
}
try {
  const client = await Client.open(await readFile(file, "utf8"), { pin });
  console.log(client.task.question);
  const { state } = await client.send(answer);
  console.log(state);
} catch (error) {
  console.error(`answer.mjs: ${error.message}`);
  process.exitCode = 1;
}
