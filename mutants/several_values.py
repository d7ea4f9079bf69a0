"""Faults in what people hold who hold several values, and in its accounting."""

from __future__ import annotations

from mutants.fault import Fault

_SETS = "tests/histogram/test_sets.py"
_PROTOCOLS = "tests/protocols/test_several_values.py"

FAULTS = (
    Fault(
        name="one-filler-for-everything-that-is-missing",
        harm="A person without values is counted several times in one bin, which then moves by more than one.",
        file="histogram/inputs.py",
        old="whole[empty] = (bins - fillers + np.cumsum(empty, axis=1) - 1)[empty]",
        new="whole[empty] = bins - fillers",
        tests=(f"{_SETS}::test_everybody_holds_the_same_number_of_different_bins",),
    ),
    Fault(
        name="a-value-that-is-named-twice-counts-twice",
        harm="A person moves one bin by two, and the promise does not hold for them.",
        file="histogram/inputs.py",
        old="if (ordered[:, 1:] == ordered[:, :-1]).any():",
        new="if False:",
        tests=(f"{_SETS}::test_other_rows_are_refused",),
    ),
    Fault(
        name="people-name-fillers-themselves",
        harm="A value of a client can be a filler, which then counts a person twice.",
        file="histogram/inputs.py",
        old="rows = _rows(values, real=bins - fillers, each=each)",
        new="rows = _rows(values, real=bins, each=each)",
        tests=(f"{_SETS}::test_other_rows_are_refused",),
    ),
    Fault(
        name="missing-values-are-not-filled-up",
        harm="The number of messages tells how many values a person holds.",
        file="histogram/inputs.py",
        old="if not fillers and missing.any():",
        new="if missing.any() and fillers < 0:",
        tests=(f"{_SETS}::test_without_fillers_everybody_holds_all",),
    ),
    Fault(
        name="several-values-accounted-as-one",
        harm="People who hold several values are promised what holds for one.",
        file="accounting/curve.py",
        old="for by in (1, -1)] * values",
        new="for by in (1, -1)]",
        tests=(f"{_PROTOCOLS}::test_the_noise_grows_as_a_separate_program_found",),
    ),
    Fault(
        name="histogram-curve-forgets-several-values",
        harm="A histogram of sets says that it protects them like single values.",
        file="protocols/shuffled/histogram.py",
        old="return moved_bins(honest, values=self.values_per_person)",
        new="return moved_bins(honest)",
        tests=(f"{_PROTOCOLS}::test_more_values_need_more_noise",),
    ),
    Fault(
        name="dummies-curve-forgets-several-values",
        harm="Dummies for sets say that they protect them like single values.",
        file="protocols/shuffled/dummy.py",
        old="of=self.users), values=self.values_per_person)",
        new="of=self.users))",
        tests=(f"{_PROTOCOLS}::test_more_values_need_more_noise",),
    ),
    Fault(
        name="sparse-curve-forgets-several-values",
        harm="Our protocol says that it protects sets like single values.",
        file="protocols/shuffled/sparse.py",
        old="return honest.curve(values=self.values_per_person, resolution=search.resolution)",
        new="return honest.curve(resolution=search.resolution)",
        tests=(f"{_PROTOCOLS}::test_more_values_need_more_noise",),
    ),
    Fault(
        name="curator-curve-forgets-several-values",
        harm="A curator says that sets are protected like single values.",
        file="protocols/central.py",
        old="return moved_bins(self.noise, values=self.values_per_person)",
        new="return moved_bins(self.noise)",
        tests=(f"{_PROTOCOLS}::test_more_values_need_more_noise",),
    ),
    Fault(
        name="one-value-protocols-take-several",
        harm="A protocol that is private for one value is made for people who hold several.",
        file="protocols/target.py",
        old="if values != 1 or fillers:",
        new="if False:",
        tests=(f"{_PROTOCOLS}::test_every_protocol_counts_several_values_or_says_that_it_cannot",),
    ),
    Fault(
        name="large-bins-counted-for-one-value-each",
        harm="Bounds on what is hidden forget that people who hold several values fill more bins.",
        file="estimators/counts.py",
        old="return self.people * self.values_per_person",
        new="return self.people",
        tests=(f"{_PROTOCOLS}::test_many_more_values_than_people_can_be_held",),
    ),
    Fault(
        name="consistent-counts-leave-their-intervals",
        harm="An adjusted estimate lies outside of the interval that is shown beside it.",
        file="histogram/estimate.py",
        old="return np.clip(counts - shift, low, high)",
        new="return np.maximum(counts - shift, 0)",
        tests=("tests/histogram/test_consistent.py::test_it_is_a_projection",),
    ),
    Fault(
        name="adjusted-without-a-word",
        harm="A reader takes adjusted estimates for unbiased ones.",
        file="histogram/estimate.py",
        old="if self.adjusted:",
        new="if False:",
        tests=("tests/histogram/test_consistent.py::test_its_use_is_stated",),
    ),
)
