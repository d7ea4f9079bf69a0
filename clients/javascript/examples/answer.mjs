// Answers a task from Node:  node answer.mjs TASK.json ID ANSWER  (several answers where people choose several)
import { readFile } from "node:fs/promises";
import { Client } from "shuffledp-client";

const [file, pin, ...answers] = process.argv.slice(2);
if (answers.length === 0) stop(); // an answer that was left out would count for good
try {
  const client = await Client.open(await readFile(file, "utf8"), { pin });
  const several = client.task.answers.kind === "choices";
  if (answers.length > 1 && !several) stop();
  console.log(client.task.question);
  const { state } = await client.send(several ? answers : answers[0]);
  console.log(state);
} catch (error) {
  console.error(`answer.mjs: ${error.message}`);
  process.exitCode = 1;
}

function stop() {
  console.error("usage: node answer.mjs TASK.json ID ANSWER");
  process.exit(2);
}
