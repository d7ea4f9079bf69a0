// Messages that fit a value and many others: a random hash function, and the bucket of the value under it.
import { ClusterSampler } from "./cluster_sampler.js";
import { belowLarge } from "./randomness.js";

/**
 * Makes the messages of one person: the bucket of the value on each level under a seed of its own, and dummies, each of
 * them uniform among all messages.
 * @param {import("./hash_family.js").HashFamily} family
 * @param {import("./parameters.js").ClusterLaw} law how many dummies of all people together fit each value
 * @param {number} users
 * @returns {import("./randomizer.js").Randomizer<(number | bigint)[]>}
 */
export function hashedMessages(family, law, users) {
  const dummies = new ClusterSampler(law, family.modulus * family.levels, users);
  return (values, most, random) => {
    const messages = values.map((value, level) => {
      const seed = belowLarge(family.seeds, random);
      return family.message({ level, seed, bucket: family.bucket(seed, BigInt(value)) });
    });
    const number = messages.length + dummies.drawNumber(most, random);
    while (messages.length < Math.min(number, most + 1)) messages.push(belowLarge(family.messages, random));
    return messages;
  };
}
