// Answers a task, or the rounds of a series, of shuffledp for one person, on their own device.
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
export { admissionOf } from "./invitation.js";
export { IndexedDBJournal } from "./journal_browser.js";
export { readSeries, Series } from "./series.js";
export { readTask, Task } from "./task.js";
