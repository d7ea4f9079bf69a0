// Answers a task of shuffledp for one person, on their own device.
export { AT_MOST } from "./checking.js";
export { Client } from "./client.js";
export {
  BrokenPromiseError,
  BudgetError,
  DataError,
  ParameterError,
  RefusedError,
  ShuffledpError,
  TaskError,
  UnreachableError,
} from "./errors.js";
export { IndexedDBJournal } from "./journal_browser.js";
export { readTask, Task } from "./task.js";
