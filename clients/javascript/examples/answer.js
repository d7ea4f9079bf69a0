// The page answer.html: shows the question of the task that its address names, as answer.html?task=ADDRESS#ID, and
// sends the answer. Nothing is built or loaded from elsewhere: the folders src and vendor are beside this one.
import { Client } from "../src/index.js";

const find = (name) => document.getElementById(name);
const say = (text) => (find("said").textContent = text);

/** All listed answers; with choices, several can be selected. */
function showChoices(task) {
  find("answer").multiple = task.answers.kind === "choices";
  const listed = task.values - 2 - (task.answers.most ?? 0);
  for (let place = 0; place < listed; place += 1) find("answer").append(new Option(task.labelOf(place)));
}

/** A field for any text or number, and what is counted of it. */
function showField(task) {
  const field = document.createElement("input");
  find("answer").replaceWith(field);
  field.id = "answer";
  field.addEventListener("input", () => {
    const counted = task.edges === null ? task.normalised(field.value) : task.labelOf(task.placeOf(field.value));
    say(task.countsAsOther(field.value) ? "It will be counted as “other”." : `It will be counted as “${counted}”.`);
  });
}

/** The answer: several choices are a list. */
function answer() {
  const field = find("answer");
  return field.multiple ? Array.from(field.selectedOptions, (option) => option.value) : field.value;
}

try {
  const address = new URL(new URLSearchParams(location.search).get("task") ?? "", location.href);
  const client = await Client.open(address, { pin: location.hash.slice(1) });
  await client.loadAnswers();
  const { task } = client;
  find("question").textContent = task.question;
  if (task.code === null && task.edges === null) showChoices(task);
  else showField(task);
  find("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    say("It is on its way.");
    await client.send(answer()).then(
      ({ state }) => say(state === "sent" ? "Sent, once and for all." : "You have answered before."),
      (error) => say(error.message),
    );
  });
  if ((await client.state()) === "sent") say("You have answered before.");
} catch (error) {
  say(error.message);
}
