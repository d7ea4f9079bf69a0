"""Faults of the curves that belong to one protocol."""

from mutants.fault import Fault

_CENTRAL = "tests/protocols/central/test_central.py"
_PRIVATE = "tests/protocols/shuffled/test_private_coin.py"
_PUBLIC = "tests/protocols/shuffled/test_public_coin.py"
_REAL = "tests/protocols/sums/test_real_sum.py"
_SPARSE = "tests/protocols/shuffled/test_sparse_histogram.py"
_SMOOTH = "tests/accounting/test_smoothness.py"

FAULTS = (
    Fault(
        name="shares-tell-too-little",
        harm="What shares tell beyond their sum is counted for one of two datasets only.",
        file="accounting/closed_form_curves.py",
        old="told = (1 + math.exp(min(epsilon, _LARGEST_EXPONENT))) * 2.0**-self.security_bits",
        new="told = 2.0**-self.security_bits",
        tests=("tests/protocols/test_planted_faults.py::test_what_shares_tell_counts_for_both_sides",),
    ),
    Fault(
        name="real-message-not-among-its-own",
        harm="The private coin protocol is accounted without the message that surely supports a person's value.",
        file="accounting/support_curve.py",
        old="supporting = np.arange(own.first, own.last + 1) + 1.0",
        new="supporting = np.arange(own.first, own.last + 1) + 0.5",
        tests=(f"{_PRIVATE}::test_the_formula_against_fractions",),
    ),
    Fault(
        name="support-curve-without-its-margin",
        harm="The delta of the private coin protocol is rounded down.",
        file="accounting/support_curve.py",
        old="gained + WINDOW_SUM * mass + outside",
        new="gained - WINDOW_SUM * mass",
        tests=(f"{_PRIVATE}::test_one_honest_person_is_exactly_as_private_as_enumeration_says",),
    ),
    Fault(
        name="threshold-curve-one-lower",
        harm="How likely a single person's value is published is computed for a higher threshold than is used.",
        file="accounting/threshold_curve.py",
        old="seen = self.noise.window.above(self.threshold - 2)",
        new="seen = self.noise.window.above(self.threshold - 1)",
        tests=(f"{_CENTRAL}::test_stability_is_exact_over_all_small_neighbours",),
    ),
    Fault(
        name="threshold-curve-forgets-values-that-are-new",
        harm="That somebody is the first to hold a value is not accounted.",
        file="accounting/threshold_curve.py",
        old="(block.least_emptied - block.most_new) * hidden",
        new="block.least_emptied * hidden",
        tests=("tests/protocols/central/test_published.py::test_the_first_holder_of_a_value_is_accounted",),
    ),
    Fault(
        name="sparse-curve-without-lone-messages",
        harm="Only the pairs are accounted, and what the lone messages tell is forgotten.",
        file="protocols/shuffled/sparse_noise.py",
        old="moved_bins(self.pairs, self.lone, values",
        new="moved_bins(self.pairs, values",
        tests=(f"{_SPARSE}::test_privacy_matches_enumeration_of_messages_in_fractions",),
    ),
    Fault(
        name="sparse-curve-without-pairs",
        harm="Only the lone messages are accounted, and what the pairs tell is forgotten.",
        file="protocols/shuffled/sparse_noise.py",
        old="moved_bins(self.pairs, self.lone, values",
        new="moved_bins(self.lone, values",
        tests=(f"{_SPARSE}::test_privacy_matches_enumeration_of_messages_in_fractions",),
    ),
    Fault(
        name="one-row-of-cells-is-accounted",
        harm="A value is hashed into several rows, each of which tells; only one is accounted.",
        file="protocols/shuffled/public_coin.py",
        old="for by in (1, -1) for _ in range(rows)]",
        new="for by in (1, -1) for _ in range(1)]",
        tests=(f"{_PUBLIC}::test_a_value_moves_two_cells_of_every_row",),
    ),
    Fault(
        name="a-number-moves-the-sum-by-one-step",
        harm="A number between 0 and 1 moves the sum by all its steps; only one is accounted.",
        file="protocols/sums/real_sum.py",
        old="Shift(law=self.noise, by=self.scale)",
        new="Shift(law=self.noise, by=1)",
        tests=(f"{_REAL}::test_calibration_reaches_its_guarantee", "tests/protocols/sums/test_split_and_mix.py"),
    ),
    Fault(
        name="one-share-fewer",
        harm="Mixed shares tell more about a person's number than delta allows.",
        file="protocols/sums/real_sum.py",
        old="return math.ceil(2 + (2 * self.security_bits",
        new="return math.ceil(1 + (2 * self.security_bits",
        tests=("tests/protocols/test_honest_sums.py::test_a_sum_of_numbers_mixes_with_them",),
    ),
    Fault(
        name="hashes-that-never-collide",
        harm="Shuffled local hashing is accounted as if its reports told less than they do.",
        file="protocols/local/local_hashing.py",
        old="return self._response.telling * (1 - self.false_support)",
        new="return self._response.telling * (1 - self.false_support) ** 4",
        tests=("tests/protocols/test_planted_faults.py::test_reports_of_hashes_are_telling_as_often_as_they_say",),
    ),
    Fault(
        name="response-tells-less",
        harm="Shuffled randomized response is accounted as if reports of a third value told nothing.",
        file="protocols/local/randomized_response.py",
        old="(self.true_support + self.false_support) * (1 + SEVERAL_OPERATIONS)",
        new="self.true_support * (1 + SEVERAL_OPERATIONS)",
        tests=("tests/protocols/local/test_telling.py",),
    ),
    Fault(
        name="unary-reports-tell-less",
        harm="Shuffled unary encoding is accounted as if only one of its two bits told.",
        file="protocols/local/unary_encoding.py",
        old="(p * (1 - q) + (1 - p) * q) * (1 + SEVERAL_OPERATIONS)",
        new="(p * (1 - q)) * (1 + SEVERAL_OPERATIONS)",
        tests=("tests/protocols/local/test_telling.py",),
    ),
    Fault(
        name="hadamard-tells-less",
        harm="Shuffled Hadamard response is accounted as if a quarter of its symbols told, and not half.",
        file="protocols/local/hadamard_response.py",
        old='        """Half of the symbols lie in one of two given sets and not in the other."""\n        return 0.5',
        new='        """Half of the symbols lie in one of two given sets and not in the other."""\n        return 0.25',
        tests=("tests/protocols/local/test_telling.py",),
    ),
    Fault(
        name="smoothness-in-one-direction",
        harm="A law is called smooth because of shifts up, while shifts down tell more.",
        file="accounting/theorems.py",
        old="for sign in (1, -1)",
        new="for sign in (1,)",
        tests=(f"{_SMOOTH}::test_smoothness_matches_its_definition_in_fractions",),
    ),
)
