"""Faults of a curator's noise and threshold."""

from mutants.fault import Fault

_CONTRACT = "tests/protocols/test_contract.py"
_CENTRAL = "tests/protocols/central/test_central.py"

FAULTS = (
    Fault(
        name="threshold-one-lower",
        harm="A value that one person holds is published more often than delta allows.",
        file="protocols/central.py",
        old="return options[at] if at < len(options) else None",
        new="return options[at] - 1 if at < len(options) else None",
        tests=(f"{_CONTRACT}::test_it_keeps_its_promise[stability]",),
    ),
    Fault(
        name="threshold-used-one-lower",
        harm="Counts are published that the accounted threshold hides.",
        file="protocols/central.py",
        old="(noisy >= self.threshold)",
        new="(noisy >= self.threshold - 1)",
        tests=("tests/protocols/central/test_published.py",),
    ),
    Fault(
        name="empty-values-published",
        harm="A value that nobody holds can be published, which shows which values were looked at.",
        file="protocols/central.py",
        old="kept = (truth.counts > 0) & (noisy",
        new="kept = (truth.counts >= 0) & (noisy",
        tests=("tests/protocols/central/test_published.py::test_a_value_that_nobody_holds_is_never_published",),
    ),
    Fault(
        name="curator-counts-one-change-for-two",
        harm="A curator's noise is for one changed count, where a replaced value changes two.",
        file="protocols/central.py",
        old="decay=safely_up(math.exp(-target.epsilon / 2))",
        new="decay=safely_up(math.exp(-target.epsilon))",
        tests=(f"{_CENTRAL}::test_published_parameters_keep_what_they_claim_and_exact_ones_need_less",),
    ),
    Fault(
        name="published-threshold-without-its-one",
        harm="The published threshold is one too low.",
        file="protocols/central.py",
        old="math.ceil(1 + 2 * math.log(2 / target.delta)",
        new="math.ceil(2 * math.log(2 / target.delta)",
        tests=("tests/protocols/central/test_published.py",),
    ),
    Fault(
        name="central-release-drawn-twice",
        harm="A curator averages two draws, which halves the variance of the noise.",
        file="protocols/central.py",
        old="        return self.estimate(self.sample_tally(counts, rng=rng), **options)",
        new="        one, two = (self.sample_tally(counts, rng=rng) for _ in range(2))\n"
        "        if len(one) != len(two):\n            return self.estimate(one, **options)\n"
        "        mean = type(one)(one.symbols, (one.counts + two.counts) // 2, one.complete, one.messages)\n"
        "        return self.estimate(mean, **options)",
        tests=("tests/protocols/central/test_published.py",),
    ),
)
