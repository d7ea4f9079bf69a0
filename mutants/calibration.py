"""Faults of how much noise is chosen for a guarantee, and of whose noise counts."""

from mutants.fault import Fault

_CONTRACT = "tests/protocols/test_contract.py"
_CALIBRATION = "tests/accounting/test_calibration.py"
_THEOREMS = "tests/accounting/test_theorems.py"
_CENTRAL = "tests/protocols/central/test_central.py"
_LOCAL = "tests/protocols/local/test_local.py"
_EARLIER = "tests/protocols/shuffled/test_earlier_protocols.py"
_REAL = "tests/protocols/sums/test_split_and_mix.py"
_HONEST = "tests/protocols/test_honest_sums.py"


def _honest(name: str, entry: str, file: str, old: str, new: str, harm: str) -> Fault:
    """Noise that is calibrated or accounted for all people instead of the honest ones."""
    tests = (f"{_CONTRACT}::test_only_honest_people_count[{entry}]",)
    return Fault(name=name, harm=harm, file=file, old=old, new=new, tests=tests)


def _accounted(what: str) -> str:
    return f"{what} is accounted as if everybody made noise, also those who may not follow the protocol."


def _chosen(what: str) -> str:
    return f"{what} has noise for which everybody is needed, also those who may not follow the protocol."


HONEST = (
    _honest(
        "histogram-calibrated-for-all",
        "hist",
        "protocols/shuffled/histogram.py",
        "users=target.honest, epsilon=target.epsilon",
        "users=target.users, epsilon=target.epsilon",
        _chosen("P^hist"),
    ),
    _honest(
        "histogram-accounted-for-all",
        "hist",
        "protocols/shuffled/histogram.py",
        "Binomial(trials=self.honest",
        "Binomial(trials=self.users",
        _accounted("P^hist"),
    ),
    _honest(
        "dummies-calibrated-for-all",
        "dummy",
        "protocols/shuffled/dummy.py",
        "users=target.honest, epsilon=target.epsilon",
        "users=target.users, epsilon=target.epsilon",
        _chosen("DummyHistogram"),
    ),
    _honest(
        "dummies-accounted-for-all",
        "dummy",
        "protocols/shuffled/dummy.py",
        "moved_bins(self.noise.share(self.honest, of=self.users)",
        "moved_bins(self.noise",
        _accounted("DummyHistogram"),
    ),
    _honest(
        "poisson-dummies-calibrated-for-all",
        "dummy-poisson",
        "protocols/shuffled/dummy.py",
        "_poisson(rate * (1 + SHARE_OF_A_RATE) * target.users / target.honest)",
        "_poisson(rate * (1 + SHARE_OF_A_RATE))",
        _chosen("DummyHistogram with Poisson dummies"),
    ),
    _honest(
        "sparse-accounted-for-all",
        "sparse",
        "protocols/shuffled/sparse/histogram.py",
        "self._laws.scaled(self.honest / self.users).curve(",
        "self._laws.curve(",
        _accounted("SparseHistogram"),
    ),
    _honest(
        "blanket-calibrated-for-all",
        "blanket",
        "protocols/flips.py",
        "        users=target.honest,",
        "        users=target.users,",
        _chosen("CSU+19's histogram"),
    ),
    _honest(
        "blanket-accounted-for-all",
        "blanket",
        "protocols/shuffled/blanket.py",
        "blanket_curve(self.honest, ",
        "blanket_curve(self.users, ",
        _accounted("CSU+19's histogram"),
    ),
    _honest(
        "public-coin-calibrated-for-all",
        "public-coin",
        "protocols/shuffled/public_coin.py",
        "_least_noise(target.honest, ",
        "_least_noise(target.users, ",
        _chosen("The public coin protocol"),
    ),
    _honest(
        "public-coin-accounted-for-all",
        "public-coin",
        "protocols/shuffled/public_coin.py",
        "_curve(self.honest, self.noise.probability, self.rows)",
        "_curve(self.users, self.noise.probability, self.rows)",
        _accounted("The public coin protocol"),
    ),
    _honest(
        "private-coin-calibrated-for-all",
        "private-coin",
        "protocols/shuffled/private_coin/histogram.py",
        "math.ceil(_fewest_noise(elements, epsilon, delta) / honest)",
        "math.ceil(_fewest_noise(elements, epsilon, delta) / target.users)",
        _chosen("The private coin protocol"),
    ),
    _honest(
        "private-coin-accounted-for-all",
        "private-coin",
        "protocols/shuffled/private_coin/histogram.py",
        "SupportCurve(noise_messages=self.honest * self.noise_messages",
        "SupportCurve(noise_messages=self.users * self.noise_messages",
        _accounted("The private coin protocol"),
    ),
    _honest(
        "amplified-calibrated-for-all",
        "shuffled-response",
        "protocols/shuffled/amplified.py",
        "special=lambda local_epsilon: oracle(local_epsilon).amplified(target.honest)",
        "special=lambda local_epsilon: oracle(local_epsilon).amplified(target.users)",
        _chosen("A shuffled local protocol"),
    ),
    _honest(
        "amplified-accounted-for-all",
        "shuffled-response",
        "protocols/shuffled/amplified.py",
        "return self.oracle.amplified(self.honest)",
        "return self.oracle.amplified(self.users)",
        _accounted("A shuffled local protocol"),
    ),
    Fault(
        name="sum-calibrated-for-all",
        harm=_chosen("A sum of bits"),
        file="protocols/sums/binary_sum.py",
        old="_curve, users=target.honest, ",
        new="_curve, users=target.users, ",
        tests=(_HONEST,),
    ),
    Fault(
        name="sum-accounted-for-all",
        harm=_accounted("A sum of bits"),
        file="protocols/sums/binary_sum.py",
        old="return _curve(self.honest, ",
        new="return _curve(self.users, ",
        tests=(_HONEST,),
    ),
    Fault(
        name="flipped-sum-accounted-for-all",
        harm=_accounted("CSU+19's sum"),
        file="protocols/sums/blanket_sum.py",
        old="blanket_curve(self.honest, ",
        new="blanket_curve(self.users, ",
        tests=(_HONEST,),
    ),
    Fault(
        name="noise-of-a-sum-from-all",
        harm=_chosen("A sum of numbers"),
        file="protocols/sums/real_sum.py",
        old="poisson_table(Fraction(rate) / self._honest)",
        new="poisson_table(Fraction(rate) / self.users)",
        tests=(_HONEST,),
    ),
    Fault(
        name="shares-mixed-by-all",
        harm="Shares are so few that they count on everybody's to mix with, also on those of people who may send none.",
        file="protocols/sums/real_sum.py",
        old="math.log2(self._honest) - math.log2(math.e)",
        new="math.log2(self.users) - math.log2(math.e)",
        tests=(_HONEST,),
    ),
)

TARGETS = (
    Fault(
        name="histogram-with-twice-the-delta",
        harm="The release fails to protect somebody twice as often as was asked.",
        file="accounting/calibration.py",
        old="partial(_binomial_bins, values), users=users, epsilon=epsilon, delta=delta, shifts",
        new="partial(_binomial_bins, values), users=users, epsilon=epsilon, delta=2 * delta, shifts",
        tests=(f"{_CALIBRATION}::test_histograms_of_one_coin_per_person_are_calibrated_once",),
    ),
    Fault(
        name="histogram-with-one-per-cent-more-epsilon",
        harm="The release is calibrated for a larger epsilon than was asked.",
        file="accounting/calibration.py",
        old="partial(_binomial_bins, values), users=users, epsilon=epsilon, delta=delta, shifts",
        new="partial(_binomial_bins, values), users=users, epsilon=1.01 * epsilon, delta=delta, shifts",
        tests=(f"{_CALIBRATION}::test_histograms_of_one_coin_per_person_are_calibrated_once",),
    ),
    Fault(
        name="every-probability-with-twice-the-delta",
        harm="All noise of coins is calibrated for twice the delta that was asked.",
        file="accounting/calibration.py",
        old="curve_of(users, probability_at(logarithm)).delta(epsilon), delta),",
        new="curve_of(users, probability_at(logarithm)).delta(epsilon), 2 * delta),",
        tests=(f"{_CALIBRATION}::test_calibration_is_sufficient_and_necessary",),
    ),
    Fault(
        name="sum-with-twice-the-delta",
        harm="A sum of bits fails to protect somebody twice as often as was asked.",
        file="protocols/sums/binary_sum.py",
        old="epsilon=target.epsilon, delta=target.delta, shifts=1\n        )\n        if",
        new="epsilon=target.epsilon, delta=2 * target.delta, shifts=1\n        )\n        if",
        tests=(_HONEST,),
    ),
    Fault(
        name="one-person-too-few-is-enough",
        harm="A guarantee is called possible with fewer people than it needs.",
        file="accounting/calibration.py",
        old="        low, high = (low, middle) if enough(middle) else (middle, high)\n    return high",
        new="        low, high = (low, middle) if enough(middle) else (middle, high)\n    return max(low, 1)",
        tests=(f"{_CALIBRATION}::test_fewest_users[1-148]",),
    ),
    Fault(
        name="poisson-dummies-with-twice-the-delta",
        harm="Poisson dummies fail to protect somebody twice as often as was asked.",
        file="protocols/shuffled/dummy.py",
        old="moved_bins(_poisson(rate)).delta(target.epsilon) / target.delta)",
        new="moved_bins(_poisson(rate)).delta(target.epsilon) / target.delta / 2)",
        tests=(f"{_CONTRACT}::test_it_keeps_its_promise[dummy-poisson]",),
    ),
    Fault(
        name="private-coin-with-twice-the-delta",
        harm="The private coin protocol fails to protect somebody twice as often as was asked.",
        file="protocols/shuffled/private_coin/histogram.py",
        old="elements=elements).delta(epsilon) <= delta\n\n    high",
        new="elements=elements).delta(epsilon) <= 2 * delta\n\n    high",
        tests=(f"{_CONTRACT}::test_it_keeps_its_promise[private-coin]",),
    ),
    Fault(
        name="one-noise-message-too-few-is-enough",
        harm="Everybody sends one noise message fewer than the guarantee needs.",
        file="protocols/shuffled/private_coin/histogram.py",
        old="            noise_messages=needed,",
        new="            noise_messages=max(1, needed - 1),",
        tests=(f"{_CONTRACT}::test_it_keeps_its_promise[private-coin]",),
    ),
    Fault(
        name="sparse-noise-that-is-not-checked",
        harm="SparseHistogram chooses laws that miss the delta that was asked, and checks them no more.",
        file="protocols/shuffled/sparse/histogram.py",
        old="            if protocol.privacy.delta(target.epsilon) <= target.delta:\n",
        new="            protocol = cls(users=protocol.users, bins=protocol.bins, pairs=protocol.pairs.with_rate("
        "0.9 * protocol.pairs.rate), lone=protocol.lone, honest_users=target.honest, guarantee=protocol.guarantee)\n"
        "            if protocol is not None:\n",
        tests=(f"{_CONTRACT}::test_it_keeps_its_promise[sparse]",),
    ),
    Fault(
        name="flips-too-rare-by-one-per-cent",
        harm="Bits are flipped less often than the bound allows.",
        file="protocols/flips.py",
        old="return alone if found is None else min(found, alone)",
        new="return alone if found is None else min(round_up_to_grid(found * 0.99), alone)",
        tests=(f"{_CONTRACT}::test_it_keeps_its_promise[blanket]",),
    ),
    Fault(
        name="flips-that-protect-alone-for-one-bit",
        harm="Where there are too few people, bits are flipped as if a replaced value changed one of them and not two.",
        file="protocols/flips.py",
        old="safely_up(1 / (1 + math.exp(target.epsilon / moved_bits)))",
        new="safely_up(1 / (1 + math.exp(target.epsilon)))",
        tests=("tests/protocols/shuffled/test_blanket.py::test_calibration_reaches_its_guarantee_and_hardly_more",),
    ),
    Fault(
        name="local-epsilon-too-large",
        harm="Shuffled messages are chosen for a larger delta than was asked.",
        file="accounting/amplification.py",
        old="log_excess(bound(local_epsilon).delta(epsilon), delta),",
        new="log_excess(bound(local_epsilon).delta(epsilon), 2 * delta),",
        tests=(f"{_CONTRACT}::test_it_keeps_its_promise[shuffled-response]",),
    ),
    Fault(
        name="threshold-one-lower",
        harm="A value that one person holds is published more often than delta allows.",
        file="protocols/central/stability_histogram.py",
        old="return options[at] if at < len(options) else None",
        new="return options[max(at - 1, 0)] if at < len(options) else None",
        tests=(f"{_CONTRACT}::test_it_keeps_its_promise[stability]",),
    ),
    Fault(
        name="threshold-used-one-lower",
        harm="Counts are published that the accounted threshold hides.",
        file="protocols/central/stability_histogram.py",
        old="(noisy >= self.threshold)",
        new="(noisy >= self.threshold - 1)",
        tests=("tests/protocols/central/test_published.py",),
    ),
    Fault(
        name="empty-values-published",
        harm="A value that nobody holds can be published, which shows which values were looked at.",
        file="protocols/central/stability_histogram.py",
        old="kept = (truth.counts > 0) & (noisy",
        new="kept = (truth.counts >= 0) & (noisy",
        tests=("tests/protocols/central/test_published.py::test_a_value_that_nobody_holds_is_never_published",),
    ),
    Fault(
        name="curator-counts-one-change-for-two",
        harm="A curator's noise is for one changed count, where a replaced value changes two.",
        file="protocols/central/laplace_histogram.py",
        old="decay=safely_up(math.exp(-target.epsilon / 2))",
        new="decay=safely_up(math.exp(-target.epsilon))",
        tests=(f"{_CENTRAL}::test_published_parameters_keep_what_they_claim_and_exact_ones_need_less",),
    ),
    Fault(
        name="published-threshold-without-its-one",
        harm="The published threshold is one too low.",
        file="protocols/central/stability_histogram.py",
        old="math.ceil(1 + 2 * math.log(2 / target.delta)",
        new="math.ceil(2 * math.log(2 / target.delta)",
        tests=("tests/protocols/central/test_published.py",),
    ),
    Fault(
        name="central-release-drawn-twice",
        harm="A curator averages two draws, which halves the variance of the noise.",
        file="protocols/central/curator.py",
        old="        return self.estimate(self.sample_tally(counts, rng=rng), **options)",
        new="        one, two = (self.sample_tally(counts, rng=rng) for _ in range(2))\n"
        "        if len(one) != len(two):\n            return self.estimate(one, **options)\n"
        "        mean = type(one)(one.symbols, (one.counts + two.counts) // 2, one.complete, one.messages)\n"
        "        return self.estimate(mean, **options)",
        tests=("tests/protocols/central/test_published.py",),
    ),
    Fault(
        name="theorem-with-half-the-noise",
        harm="The paper's noise is halved.",
        file="accounting/theorems.py",
        old="return 50 / epsilon**2 * math.log(2 / delta)",
        new="return 25 / epsilon**2 * math.log(2 / delta)",
        tests=(f"{_THEOREMS}::test_theorem_noise_is_the_papers_formula",),
    ),
    Fault(
        name="theorem-for-one-bin",
        harm="The paper's noise for one sum is used for a histogram, in which two bins change.",
        file="protocols/shuffled/histogram.py",
        old="theorem_noise(target, share=2,",
        new="theorem_noise(target, share=1,",
        tests=(
            f"{_THEOREMS}::test_theorem_noise_is_the_papers_formula",
            f"{_THEOREMS}::test_conditions_of_the_theorems",
            f"{_THEOREMS}::test_too_few_users_for_the_theorem",
        ),
    ),
    Fault(
        name="published-parameters-are-not-checked",
        harm="Published parameters are used also where they do not give what they promise.",
        file="protocols/promise.py",
        old="    if reached > promised.delta:",
        new="    if reached > 1:",
        tests=(f"{_EARLIER}::test_published_parameters_keep_their_promise_or_are_refused",),
    ),
    Fault(
        name="unary-bits-for-twice-the-epsilon",
        harm="A symmetric unary report tells twice what its epsilon allows, since two of its bits differ.",
        file="protocols/local/unary_encoding.py",
        old="self.epsilon if self.optimised else self.epsilon / 2",
        new="self.epsilon",
        tests=(f"{_LOCAL}::test_every_report_is_private_and_no_more_than_needed",),
    ),
    Fault(
        name="response-rounded-to-the-truth",
        harm="The true value is sent a hair more often than epsilon allows.",
        file="protocols/local/randomized_response.py",
        old="1 - safely_up(self.bins / (math.expm1(self.epsilon) + self.bins))",
        new="1 - self.bins / (math.expm1(self.epsilon) + self.bins) * (1 - 1e-9)",
        tests=(f"{_LOCAL}::test_every_report_is_private_and_no_more_than_needed",),
    ),
    Fault(
        name="response-for-one-value-less",
        harm="Lies are too rare, as if there were one possible value fewer.",
        file="protocols/local/randomized_response.py",
        old="safely_up(self.bins / (math.expm1(self.epsilon) + self.bins))",
        new="safely_up((self.bins - 1) / (math.expm1(self.epsilon) + self.bins - 1))",
        tests=(f"{_LOCAL}::test_every_report_is_private_and_no_more_than_needed",),
    ),
    Fault(
        name="noise-of-a-sum-for-one-step",
        harm="The noise of a sum of numbers hides one step of a number and not the whole of it.",
        file="protocols/sums/real_sum.py",
        old="DiscreteLaplace(decay=safely_up(math.exp(-epsilon / scale)))",
        new="DiscreteLaplace(decay=safely_up(math.exp(-2 * epsilon / scale)))",
        tests=(_REAL,),
    ),
    Fault(
        name="shares-for-twice-the-delta",
        harm="Mixed shares tell more than their sum twice as often as was asked.",
        file="protocols/sums/real_sum.py",
        old="math.log2(2 * (1 + math.exp(epsilon)) / delta)",
        new="math.log2((1 + math.exp(epsilon)) / (2 * delta))",
        tests=(_REAL,),
    ),
)

FAULTS = HONEST + TARGETS
