"""Faults of the privacy that the client in JavaScript computes before anybody answers."""

from mutants.fault import Fault

_CURVE = "clients/javascript/src/curve/"
_PROMISE = "clients/javascript/src/promise.js"
_TESTS = "tests/clients/test_promise.py"
_COINS = f"{_TESTS}::test_coins_are_never_below_all_outcomes_in_fractions"
_CLUSTERS = f"{_TESTS}::test_clusters_are_never_below_all_outcomes"
_SAME = f"{_TESTS}::test_both_programs_compute_the_same"
_MARGINS = f"{_TESTS}::test_margins_are_more_than_twice_the_rounding"
_VERDICTS = f"{_TESTS}::test_the_verdicts_are_the_same_in_the_same_words"
_OUTSIDE = f"{_TESTS}::test_what_windows_leave_out_counts_as_revealed"
_CHANCE = f"{_TESTS}::test_the_chance_of_more_messages_is_never_below_the_truth"

FAULTS = (
    Fault(
        name="javascript-has-no-margin",
        harm="In browsers a delta may be below the truth, by what the computer rounds.",
        file=f"{_CURVE}rounding.js",
        old="export const PRIVACY_LOSS = 2 ** -40;",
        new="export const PRIVACY_LOSS = 0;",
        tests=(_MARGINS,),
    ),
    Fault(
        name="javascript-loses-what-rounding-loses",
        harm="In browsers sums over many outcomes are off by more than the margins cover.",
        file=f"{_CURVE}sums.js",
        old="    this.lost = next - this.value - more;",
        new="    this.lost = 0;",
        tests=(f"{_TESTS}::test_sums_of_a_million_terms_lose_nothing",),
    ),
    Fault(
        name="javascript-moves-both-counts-up",
        harm="In browsers the privacy is that of an answer that is moved up twice, and never down.",
        file=f"{_CURVE}curve.js",
        old="  const down = PrivacyLoss.ofShift(window, -1);",
        new="  const down = up;",
        tests=(_COINS,),
    ),
    Fault(
        name="javascript-looks-at-one-count-of-clusters",
        harm="In browsers only one of the two counts that an answer moves is looked at, where noise comes in clusters.",
        file=f"{_CURVE}curve.js",
        old="      { loss: PrivacyLoss.ofShift(window, 1), count: 2 / different.length },\n",
        new="",
        tests=(_CLUSTERS,),
    ),
    Fault(
        name="javascript-counts-on-everybody",
        harm="In browsers the noise of people is counted who were never promised to be honest.",
        file=f"{_CURVE}curve.js",
        old="ofOneLaw(binomialWindow(honestUsers, ",
        new="ofOneLaw(binomialWindow(users, ",
        tests=(_COINS,),
    ),
    Fault(
        name="javascript-counts-on-everybodys-clusters",
        harm="In browsers the clusters of people are counted who were never promised to be honest.",
        file=f"{_CURVE}curve.js",
        old="  const share = honestUsers / users;",
        new="  const share = 1;",
        tests=(_CLUSTERS,),
    ),
    Fault(
        name="javascript-drops-the-tails",
        harm="In browsers what a window of probabilities leaves out counts for nothing.",
        file=f"{_CURVE}loss.js",
        old="    revealed.add(outside);\n",
        new="",
        tests=(_OUTSIDE,),
    ),
    Fault(
        name="javascript-forgets-outcomes-that-reveal",
        harm="In browsers an outcome that only one of two answers can have is not counted.",
        file=f"{_CURVE}loss.js",
        old="        revealed.add(pmf[at]);",
        new="        revealed.add(0);",
        tests=(_COINS,),
    ),
    Fault(
        name="javascript-has-no-infinite-losses-on-the-grid",
        harm="In browsers losses that are cut off count for nothing.",
        file=f"{_CURVE}loss.js",
        old="masses, this.infinity + total(this.masses, high));",
        new="masses, this.infinity);",
        tests=(_SAME,),
    ),
    Fault(
        name="javascript-rounds-losses-down-to-the-grid",
        harm="In browsers losses are rounded down where noise comes in clusters, which makes privacy look better.",
        file=f"{_CURVE}grid.js",
        old="    const up = kept.masses[at] * Math.min(Math.max(share * (1 + PRIVACY_LOSS), 0), 1);",
        new="    const up = 0 * share;",
        tests=(_CLUSTERS,),
    ),
    Fault(
        name="javascript-composes-in-another-order",
        harm="Browsers and servers disagree on which tasks keep their promise.",
        file=f"{_CURVE}curve.js",
        old="other.mean - one.mean || other.variance - one.variance",
        new="one.mean - other.mean || one.variance - other.variance",
        tests=(_SAME,),
    ),
    Fault(
        name="javascript-does-not-halve-high-rates",
        harm="In browsers noise of a high rate is taken to be another than it is.",
        file=f"{_CURVE}clusters.js",
        old="withoutEnds(...this.withRate(this.rate / 2).#probabilities())",
        new="withoutEnds(...this.withRate(Math.min(this.rate, LARGEST_STEP)).#probabilities())",
        tests=(_SAME,),
    ),
    Fault(
        name="javascript-does-not-count-drawing-again",
        harm="In browsers a limit of messages that people often exceed is taken to cost nothing.",
        file=_PROMISE,
        old="  const redrawn = chanceOfMore(task);\n  if (",
        new="  const redrawn = 0;\n  if (",
        tests=(_VERDICTS,),
    ),
    Fault(
        name="javascript-draws-again-as-one-person",
        harm="In browsers that anybody draws again is taken to be as unlikely as that one person does.",
        file=f"{_CURVE}most_messages.js",
        old="task.users * Math.exp(least)",
        new="Math.exp(least)",
        tests=(_CHANCE,),
    ),
    Fault(
        name="javascript-allows-what-is-claimed",
        harm="In browsers somebody who allows less than a task gives answers it all the same.",
        file=_PROMISE,
        old="    if (!(allowed <= atMost[1] * (1 + PROMISED_DELTA))) {",
        new="    if (!(allowed <= 1)) {",
        tests=(_VERDICTS,),
    ),
    Fault(
        name="javascript-believes-claims",
        harm="In browsers a task with too little noise is answered.",
        file=_PROMISE,
        old="  if (!(reached <= delta * (1 + PROMISED_DELTA))) {",
        new="  if (!(reached <= 1)) {",
        tests=(_VERDICTS,),
    ),
    Fault(
        name="javascript-believes-claims-that-nearly-hold",
        harm="In browsers a task is answered that gives a little less than it claims, and servers refuse it.",
        file=f"{_CURVE}rounding.js",
        old="export const PROMISED_DELTA = 1e-9;",
        new="export const PROMISED_DELTA = 1e-6;",
        tests=(_VERDICTS,),
    ),
)
