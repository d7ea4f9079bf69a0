// What tasks with hashed messages need.
export { HashFamily } from "../src/hash_family.js";
export { hashedMessages } from "../src/hashed_messages.js";
