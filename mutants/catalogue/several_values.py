"""Answers with several values of one person: numbers on the levels of a tree, and choices with padding bins."""

from mutants.mutant import Mutant

_PRIVACY = "tests/collect/task/test_set_privacy.py"
_VALUES = "tests/collect/task/test_sets.py"

MUTANTS = (
    Mutant(
        name="a-level-of-the-tree-not-sent",
        harm="The node of the widest groups is replaced by the next one, so ranges are wrong.",
        target="shuffledp.collect.task.task:Task.values_of",
        pattern="self.tree.paths(np.array([self.bin_of(answer)]))",
        replacement="np.maximum(self.tree.paths(np.array([self.bin_of(answer)])), self.tree.starts[1])",
        tests=(f"{_VALUES}::test_a_number_has_one_node_on_each_level",),
    ),
    Mutant(
        name="choices-not-filled-up",
        harm="A person with fewer choices sends fewer messages, which the first shuffler can count.",
        target="shuffledp.collect.task.guarantee:people_of",
        pattern="people._replace(bins=people.bins + most, values_per_person=most, padding_bins=most)",
        replacement="people._replace(bins=people.bins + most, values_per_person=most, padding_bins=0)",
        tests=(f"{_VALUES}::test_choices_are_filled_up_with_padding_bins",),
    ),
    Mutant(
        name="number-of-choices-not-in-the-curve",
        harm="The noise is for one choice, and a person who makes several is protected less.",
        target="shuffledp.accounting.curve:moved_bins",
        pattern="[Shift(distribution=noise, by=by) for noise in noises for by in (1, -1)] * values",
        replacement="[Shift(distribution=noise, by=by) for noise in noises for by in (1, -1)]",
        tests=(
            f"{_PRIVACY}::test_the_curve_of_choices_is_the_worst_of_all_pairs_of_answers",
            f"{_PRIVACY}::test_the_curve_of_numbers_is_the_worst_of_all_pairs_of_answers",
        ),
    ),
    Mutant(
        name="levels-of-numbers-not-in-the-curve",
        harm="A task with numbers claims the guarantee of a single count.",
        target="shuffledp.collect.task.guarantee:People.make",
        pattern="self._asdict()",
        replacement="self._replace(values_per_person=1, padding_bins=0)._asdict()",
        tests=(f"{_PRIVACY}::test_a_promise_for_fewer_values_is_false",),
    ),
    Mutant(
        name="a-choice-counted-twice",
        harm="A choice that is given twice counts twice, which the curve does not cover, or its person cannot report.",
        target="shuffledp.collect.task.answers:AnswerChoices.bins_of",
        pattern="sorted(found - {none}) or [none]",
        replacement="sorted(one for one in map(self.numbers.bin_of, choices) if one != none) or [none]",
        tests=(f"{_VALUES}::test_bins_of_choices",),
    ),
    Mutant(
        name="more-choices-than-allowed",
        harm="A person with too many choices cannot report, which reveals something about them.",
        target="shuffledp.collect.task.answers:AnswerChoices.row_of",
        pattern="chosen.size > self.most",
        replacement="chosen.size > self.most + 1",
        tests=(f"{_VALUES}::test_everybody_reports_the_same_number_of_values",),
    ),
    Mutant(
        name="the-first-choices-reported",
        harm="Of too many choices the first ones are reported, so later answers are counted too rarely.",
        target="shuffledp.collect.task.answers:AnswerChoices.row_of",
        pattern="np.sort(generator(rng).choice(chosen, size=self.most, replace=False))",
        replacement="chosen[: self.most]",
        tests=(f"{_VALUES}::test_of_too_many_choices_every_subset_is_equally_likely",),
    ),
    Mutant(
        name="no-number-is-not-counted",
        harm="A client fails for an answer that is no number, so not reporting reveals it.",
        target="shuffledp.collect.task.answers:AnswerEdges.bin_of",
        pattern="number = None",
        replacement="number = int(answer)",
        tests=(f"{_VALUES}::test_intervals_of_numbers",),
    ),
    Mutant(
        name="ranges-without-their-noise",
        harm="A batch of numbers whose dummies are missing is released.",
        target="shuffledp.protocols.ranges:Ranges.estimate",
        pattern="ran.nodes.accept(tally, reports=None if reports is None else ran.users, forged=forged)",
        replacement="(ran.nodes, tally)",
        tests=(
            "tests/collect/analyzer/test_set_releases.py::test_missing_noise_is_refused_and_surplus_is_warned_about",
        ),
    ),
)
