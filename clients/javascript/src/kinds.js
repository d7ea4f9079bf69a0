// What only some kinds of answers and messages need. The survey page has survey/parts.js in place of this module, which
// loads it only where the task needs it.
import { ChoicePlaces } from "./choices.js";
import { HashFamily } from "./hash_family.js";
import { hashedMessages } from "./hashed_messages.js";
import { NumberPlaces } from "./numbers.js";
import { TextCode } from "./text_code.js";

export const kinds = Object.freeze({ ChoicePlaces, HashFamily, hashedMessages, NumberPlaces, TextCode });
