"""Faults of how much noise is chosen for a guarantee."""

from mutants.fault import Fault

_CONTRACT = "tests/protocols/test_contract.py"
_CALIBRATION = "tests/accounting/test_calibration.py"
_THEOREMS = "tests/accounting/test_theorems.py"
_LOCAL = "tests/protocols/local/test_local.py"
_EARLIER = "tests/protocols/shuffled/test_earlier_protocols.py"
_REAL = "tests/protocols/sums/test_split_and_mix.py"
_HONEST = "tests/protocols/test_honest_sums.py"

FAULTS = (
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
        old=".delta(target.epsilon) / target.delta\n",
        new=".delta(target.epsilon) / target.delta / 2\n",
        tests=(f"{_CONTRACT}::test_it_keeps_its_promise[dummy-poisson]",),
    ),
    Fault(
        name="private-coin-with-twice-the-delta",
        harm="The private coin protocol fails to protect somebody twice as often as was asked.",
        file="protocols/shuffled/private_coin.py",
        old="elements=elements).delta(epsilon) <= delta\n\n    high",
        new="elements=elements).delta(epsilon) <= 2 * delta\n\n    high",
        tests=(f"{_CONTRACT}::test_it_keeps_its_promise[private-coin]",),
    ),
    Fault(
        name="one-noise-message-too-few-is-enough",
        harm="Everybody sends one noise message fewer than the guarantee needs.",
        file="protocols/shuffled/private_coin.py",
        old="            noise_messages=needed,",
        new="            noise_messages=max(1, needed - 1),",
        tests=(f"{_CONTRACT}::test_it_keeps_its_promise[private-coin]",),
    ),
    Fault(
        name="sparse-noise-that-is-not-checked",
        harm="SparseHistogram chooses laws that miss the delta that was asked, and checks them no more.",
        file="protocols/shuffled/sparse.py",
        old="            if protocol.privacy.delta(target.epsilon) <= target.delta:\n",
        new="            protocol = cls(users=protocol.users, bins=protocol.bins, pairs=protocol.pairs.with_rate("
        "0.9 * protocol.pairs.rate), lone=protocol.lone, honest_users=target.honest, guarantee=protocol.guarantee)\n"
        "            if protocol is not None:\n",
        tests=(f"{_CONTRACT}::test_it_keeps_its_promise[sparse]",),
    ),
    Fault(
        name="flips-too-rare-by-one-per-cent",
        harm="Bits are flipped less often than the bound allows.",
        file="protocols/sums/blanket_sum.py",
        old="return alone if found is None else min(found, alone)",
        new="return alone if found is None else min(round_up_to_grid(found * 0.99), alone)",
        tests=(f"{_CONTRACT}::test_it_keeps_its_promise[blanket]",),
    ),
    Fault(
        name="flips-that-protect-alone-for-one-bit",
        harm="Where there are too few people, bits are flipped as if a replaced value changed one of them and not two.",
        file="protocols/sums/blanket_sum.py",
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
        file="protocols/guarantee.py",
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
