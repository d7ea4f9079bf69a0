"""Faults of what is promised when fewer people report than were asked, and of several releases."""

from mutants.fault import Fault

_TURNOUT = "tests/protocols/test_participation.py"
_COMPOSITION = "tests/accounting/test_composition.py"

FAULTS = (
    Fault(
        name="missing-people-were-not-honest",
        harm="Whoever is missing is taken for somebody whose noise did not count: the printed epsilon is too small.",
        file="protocols/base.py",
        old="max(1, self.honest - (self.users - people))",
        new="min(self.honest, people)",
        tests=(f"{_TURNOUT}::test_fewer_reports_than_honest_people",),
    ),
    Fault(
        name="promise-kept-whoever-is-missing",
        harm="A release to which few people reported still promises what all of them would have given.",
        file="protocols/base.py",
        old="honest == self.honest or kept(self.guarantee, ran.privacy):",
        new="honest <= self.honest:",
        tests=(f"{_TURNOUT}::test_fewer_reports_than_honest_people",),
    ),
    Fault(
        name="turnout-is-not-checked",
        harm="Most people can be missing without anybody noticing, and the promise does not hold for the others.",
        file="protocols/base.py",
        old="        if fewest >= self.users:\n            return",
        new="        if fewest >= 0:\n            return",
        tests=(f"{_TURNOUT}::test_a_sum_of_bits_does_not_know_who_is_missing",),
    ),
    Fault(
        name="turnout-from-the-wrong-side",
        harm="The most people who could have sent these messages are taken for the fewest.",
        file="protocols/shuffled_histogram.py",
        old="return turnout.fewest_people(self.turnout_statistic(tally), self.turnout_cumulant)",
        new="return int(min(turnout.most_people(self.turnout_statistic(tally), self.turnout_cumulant), self.users))",
        tests=(f"{_TURNOUT}::test_missing_people_never_pass_for_the_whole_promise",),
    ),
    Fault(
        name="turnout-for-no-risk",
        harm="Messages that few people send by chance one time in ten pass for those of many.",
        file="accounting/participation.py",
        old="needed = (_TILTS * total + math.log(RISK)) / cumulant(_TILTS)",
        new="needed = (_TILTS * total + math.log(0.9)) / cumulant(_TILTS)",
        tests=("tests/accounting/test_participation.py",),
    ),
    Fault(
        name="changed-protocol-keeps-its-promise",
        harm="A protocol whose noise was changed by hand still prints what it was calibrated for.",
        file="protocols/base.py",
        old="if promised is None or kept(promised, self.privacy):\n            return self\n",
        new="if promised is None or promised:\n            return self\n",
        tests=(f"{_TURNOUT}::test_a_changed_protocol_does_not_keep_a_guarantee_that_it_has_lost",),
    ),
    Fault(
        name="reached-guarantee-is-the-promised-one",
        harm="What is left of a guarantee is printed as all of it.",
        file="protocols/guarantee.py",
        old="Guarantee(epsilon=curve.epsilon(promised.delta), delta=promised.delta, basis=basis)",
        new="Guarantee(epsilon=promised.epsilon, delta=promised.delta, basis=basis)",
        tests=(f"{_TURNOUT}::test_fewer_reports_than_honest_people",),
    ),
    Fault(
        name="promise-kept-with-twice-the-delta",
        harm="A promise counts as kept although it fails twice as often as it says.",
        file="protocols/guarantee.py",
        old="promised.delta * (1 + PROMISED_DELTA) if promised.delta",
        new="promised.delta * 2 if promised.delta",
        tests=("tests/protocols/test_kept_promises.py",),
    ),
    Fault(
        name="sum-without-enough-noise-is-published",
        harm="A sum of numbers to which too few people added noise is published with the whole promise.",
        file="protocols/sums/real_sum.py",
        old="        if people < self._honest:\n            raise DataError(",
        new="        if people < 1:\n            raise DataError(",
        tests=("tests/protocols/sums/test_real_sum.py::test_wrong_parameters_and_data",),
    ),
    Fault(
        name="several-releases-in-one-direction",
        harm="Several sums together are accounted in one direction, though a later one can be asked for in the other.",
        file="accounting/curve.py",
        old="return ways[0] if len(ways) == 1 else ways[0].or_worse(ways[1])",
        new="return ways[0]",
        tests=(
            f"{_COMPOSITION}::test_a_bit_that_is_chosen_after_a_result_tells_more_than_any_fixed_mix_of_directions",
            f"{_COMPOSITION}::test_two_binary_sums_bound_every_decision_tree",
        ),
    ),
    Fault(
        name="several-releases-count-as-one",
        harm="What several releases tell together is accounted as what one of them tells.",
        file="accounting/curve.py",
        old="frozenset((release, number * times) for release, times in self.releases)",
        new="frozenset((release, times) for release, times in self.releases)",
        tests=(f"{_COMPOSITION}::test_k_fold_equals_k_single_compositions",),
    ),
    Fault(
        name="an-upper-bound-is-called-exact",
        harm="A composed curve, which is an upper bound, is called the exact truth.",
        file="accounting/curve.py",
        old="return self._only is not None and self._only.exact",
        new="return self._only is None or self._only.exact",
        tests=("tests/accounting/test_losses_kept.py::test_several_releases_are_not_called_exact",),
    ),
)
