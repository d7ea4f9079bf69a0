"""Faults of what a browser draws and seals: the source, the coins, the noise, the order, the layers, the place."""

from mutants.fault import Fault

_CHECKS = "tests/clients/test_vectors_in_node.py::test_checks"
_DRAWS = f"{_CHECKS}[drawing.js]"
_VECTORS = f"{_CHECKS}[vectors.js]"
_READING = f"{_CHECKS}[reading.js]"
_LAW = "tests/clients/test_law.py::test_messages_have_the_accounted_law"
_SOURCE = "clients/javascript/src"

_RANDOMNESS = (
    Fault(
        name="javascript-draws-with-math-random",
        harm="Whoever sees a few draws of a browser computes all the others, and takes the noise away.",
        file=f"{_SOURCE}/randomness.js",
        old="void crypto.getRandomValues(bytes)",
        new="void bytes.forEach((_, at) => (bytes[at] = Math.floor(256 * Math.random())))",
        tests=(_DRAWS,),
    ),
    Fault(
        name="javascript-remembers-its-bytes",
        harm="Whoever reads the memory of a browser later computes the noise that was sent.",
        file=f"{_SOURCE}/randomness.js",
        old="    this.block[this.at] = 0; //",
        new="    //",
        tests=(_DRAWS,),
    ),
    Fault(
        name="javascript-takes-remainders",
        harm="In browsers some values get more noise than others, and the others less than is accounted for.",
        file=f"{_SOURCE}/randomness.js",
        old="    if (drawn < limit) return drawn;",
        new="    return drawn % limit;",
        tests=(_DRAWS,),
    ),
    Fault(
        name="javascript-coin-shows-heads-at-its-numerator",
        harm="In browsers a coin is a neighbouring one, and not the one that is accounted for.",
        file=f"{_SOURCE}/randomness.js",
        old="  return false; //",
        new="  return true; //",
        tests=(_DRAWS,),
    ),
    Fault(
        name="javascript-coin-of-two-bytes",
        harm="In browsers a rare coin never shows heads, and every other one is rounded.",
        file=f"{_SOURCE}/randomness.js",
        old="for (const digit of digits) {",
        new="for (const digit of digits.slice(0, 2)) {",
        tests=(_DRAWS,),
    ),
    Fault(
        name="javascript-rounds-weights",
        harm="In browsers the chances of noise are rounded to 48 digits, where nothing accounts for it.",
        file=f"{_SOURCE}/weighted.js",
        old="first > 0 && leading[first - 1] === drawn ? this.#extended(first, BigInt(drawn), random) : first;",
        new="first;",
        tests=(_DRAWS,),
    ),
)

_NOISE = (
    Fault(
        name="javascript-adds-what-should-be-missing",
        harm="In browsers a seldom message is added where one should seldom be left out: next to no noise.",
        file=f"{_SOURCE}/parameters.js",
        old='"hist-unbiased": withCoins("missing_probability", { leavesOut: true })',
        new='"hist-unbiased": withCoins("missing_probability", { leavesOut: false })',
        tests=(f"{_LAW}[hist-unbiased]",),
    ),
    Fault(
        name="javascript-draws-no-noise-for-ones-own-answer",
        harm="In browsers whoever holds a value adds no noise to its count, so that the noise tells how many do.",
        file=f"{_SOURCE}/randomizer.js",
        old="if (heads(digits, random) !== leavesOut)",
        new="if (value !== place && heads(digits, random) !== leavesOut)",
        tests=(f"{_LAW}[dummy]",),
    ),
    Fault(
        name="javascript-has-no-noise-for-no-answer",
        harm="In browsers the last count, of those who would rather not say, has no noise.",
        file=f"{_SOURCE}/randomizer.js",
        old="value < values && messages.length",
        new="value < values - 1 && messages.length",
        tests=(f"{_LAW}[hist]",),
    ),
    Fault(
        name="javascript-shares-the-noise-of-one-value",
        harm="In browsers all values together get the noise that each of them should get.",
        file=f"{_SOURCE}/cluster_sampler.js",
        old="law.rate.numerator * BigInt(values)",
        new="law.rate.numerator",
        tests=(f"{_LAW}[dummy-poisson]",),
    ),
    Fault(
        name="javascript-draws-one-part-of-much-noise",
        harm="In browsers a task with much noise gets a fraction of it.",
        file=f"{_SOURCE}/cluster_sampler.js",
        old="part < this.parts && number <= most",
        new="part < 1 && number <= most",
        tests=("tests/clients/test_law.py::test_much_noise_has_the_law_of_all_its_parts",),
    ),
    Fault(
        name="javascript-clusters-are-single",
        harm="In browsers every cluster is one message, and noise is less spread than is accounted for.",
        file=f"{_SOURCE}/cluster_sampler.js",
        old="this.sizes === null ? 0 : this.sizes.draw(random)",
        new="0",
        tests=(f"{_LAW}[sparse]",),
    ),
    Fault(
        name="javascript-pairs-without-their-other-half",
        harm="In browsers half of what hides an answer is not sent, and counts are far too large.",
        file=f"{_SOURCE}/randomizer.js",
        old="messages.push(2 * value, 2 * value + 1);",
        new="messages.push(2 * value);",
        tests=(f"{_LAW}[sparse]",),
    ),
    Fault(
        name="javascript-leaves-out-what-is-too-much",
        harm="In browsers noise is cut off at the limit of a report, in place of being drawn again.",
        file=f"{_SOURCE}/randomizer.js",
        old="    if (messages.length <= task.mostMessages) {",
        new="    messages.length = Math.min(messages.length, task.mostMessages);\n    {",
        tests=(_DRAWS,),
    ),
)

_SENT = (
    Fault(
        name="javascript-sends-messages-in-their-order",
        harm="The first message of every report of a browser is the answer: whoever opens reports can read it.",
        file=f"{_SOURCE}/randomizer.js",
        old="      return shuffled(messages, random);",
        new="      return messages;",
        tests=(f"{_LAW}[hist]",),
    ),
    Fault(
        name="javascript-does-not-pad",
        harm="The first shuffler counts the messages of a browser, and knows so much of the noise that hides others.",
        file=f"{_SOURCE}/randomizer.js",
        old="while (task.padded && messages",
        new="while (!task.padded && messages",
        tests=(f"{_LAW}[hist]",),
    ),
    Fault(
        name="javascript-pads-at-the-end",
        harm="In reports of browsers the place of a message tells whether it counts.",
        file=f"{_SOURCE}/randomizer.js",
        old="      while (task.padded && messages.length < task.mostMessages) messages.push(task.nothing);\n"
        "      return shuffled(messages, random);",
        new="      shuffled(messages, random);\n"
        "      while (task.padded && messages.length < task.mostMessages) messages.push(task.nothing);\n"
        "      return messages;",
        tests=(f"{_LAW}[hist]",),
    ),
    Fault(
        name="javascript-leaves-out-the-answer",
        harm="People in browsers answer, and only their noise is counted.",
        file=f"{_SOURCE}/randomizer.js",
        old="[place, ...dummies.draw(most, random)]",
        new="dummies.draw(most, random)",
        tests=(f"{_LAW}[dummy-poisson]",),
    ),
    Fault(
        name="javascript-gives-every-report-the-same-id",
        harm="Of all people in browsers one is counted, and the others are refused as if they had answered twice.",
        file=f"{_SOURCE}/making.js",
        old="reportId: randomBytes(REPORT_ID_BYTES)",
        new="reportId: new Uint8Array(REPORT_ID_BYTES)",
        tests=("tests/clients/test_mixed_crowd.py::test_python_node_and_browsers_fill_one_batch",),
    ),
)

_SEALED = (
    Fault(
        name="javascript-seals-everything-to-the-first-shuffler",
        harm="The first shuffler, who sees where reports come from, opens every message of a browser.",
        file=f"{_SOURCE}/envelope.js",
        old="SUITE.Seal(keys[position], text",
        new="SUITE.Seal(keys[0], text",
        tests=(_VECTORS,),
    ),
    Fault(
        name="javascript-leaves-out-later-shufflers",
        harm="Messages of browsers are sealed to the analyzer alone: the mixing of later shufflers can be skipped.",
        file=f"{_SOURCE}/envelope.js",
        old="position > 0; position--)",
        new="position > task.shufflers.length - 1; position--)",
        tests=(_VECTORS,),
    ),
    Fault(
        name="javascript-binds-layers-to-no-task",
        harm="A report of a browser can be replayed in another task, with other noise.",
        file=f"{_SOURCE}/envelope.js",
        old="task.id, Uint8Array.of(position)",
        new="task.id.slice(0, 0), Uint8Array.of(position)",
        tests=(_VECTORS,),
    ),
    Fault(
        name="javascript-layers-do-not-know-their-place",
        harm="A layer of a browser for one hop is opened by another, so that hops can be skipped.",
        file=f"{_SOURCE}/envelope.js",
        old="const info = infoOf(task, position);",
        new="const info = infoOf(task, 0);",
        tests=(_VECTORS,),
    ),
    Fault(
        name="javascript-seals-the-last-messages-over-the-first",
        harm="Of long reports of browsers most of the noise is lost on the way.",
        file=f"{_SOURCE}/envelope.js",
        old="REPORT_HEAD_BYTES + start * task.onionLength(0)",
        new="REPORT_HEAD_BYTES",
        tests=(_VECTORS,),
    ),
)

_ANSWERS = (
    Fault(
        name="javascript-fails-at-a-strange-answer",
        harm="Whoever gives an answer that a page did not expect does not report, and that tells something.",
        file=f"{_SOURCE}/answers.js",
        old="    } catch {\n      return this.number;",
        new="    } catch (error) {\n      throw error;",
        tests=(_READING,),
    ),
    Fault(
        name="javascript-counts-other-answers-as-none",
        harm="People whose answer is not in the list are counted for those who gave none.",
        file=f"{_SOURCE}/answers.js",
        old="place < this.number ? place : this.number;",
        new="place < this.number ? place : this.number + 1;",
        tests=(_VECTORS,),
    ),
    Fault(
        name="javascript-believes-any-list-of-answers",
        harm="Whoever keeps the list of answers gives each person another, and reads from the counts who had which.",
        file=f"{_SOURCE}/answers.js",
        old="(await fingerprint(content)) !== answers.sha256",
        new="(await fingerprint(content)).length !== answers.sha256.length",
        tests=(_VECTORS,),
    ),
)

FAULTS: tuple[Fault, ...] = (*_RANDOMNESS, *_NOISE, *_SENT, *_SEALED, *_ANSWERS)
