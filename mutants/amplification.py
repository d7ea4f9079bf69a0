"""Faults of the curves of messages that hide among those of others."""

from mutants.fault import Fault

_AMPLIFICATION = "tests/accounting/test_amplification.py"
_BLOCKS = "tests/accounting/test_blocks.py"
_BLANKET = "tests/protocols/shuffled/test_blanket.py"

FAULTS = (
    Fault(
        name="coins-of-everybody-but-one-more",
        harm="A person hides among their own coin too: the bound for flipped bits is too small.",
        file="accounting/blanket_curve.py",
        old="coins, _, mass = blocks(self.users - 1, 2 * flip, most=most)",
        new="coins, _, mass = blocks(self.users, 2 * flip, most=most)",
        tests=(f"{_BLANKET}::test_the_upper_bound_is_its_definition",),
    ),
    Fault(
        name="optimistic-blocks-of-coins",
        harm="Numbers of coins are taken together at the largest of them, as if there were more to hide among.",
        file="accounting/blanket_curve.py",
        old="coins, _, mass = blocks(",
        new="_, coins, mass = blocks(",
        tests=("tests/protocols/test_planted_faults.py::test_coins_that_are_taken_together_err_on_the_safe_side",),
    ),
    Fault(
        name="one-flipped-bit-instead-of-two",
        harm="A replaced value changes two bits of a histogram; only one of them is accounted.",
        file="accounting/blanket_curve.py",
        old="float(one.delta(epsilon)) if self.shifts == 1 else one.delta_with(one, epsilon))",
        new="float(one.delta(epsilon)))",
        tests=(f"{_BLANKET}::test_the_upper_bound_is_its_definition",),
    ),
    Fault(
        name="twice-the-copies",
        harm="Amplification counts on twice as many people who send the same as a given person by chance.",
        file="accounting/amplification.py",
        old="return 2 / (1 + math.exp(local_epsilon))",
        new="return min(1.0, 4 / (1 + math.exp(local_epsilon)))",
        tests=(f"{_AMPLIFICATION}::test_the_tight_bound_is_its_definition",),
    ),
    Fault(
        name="a-person-hides-behind-themselves",
        harm="Amplification counts a person among the others who hide them.",
        file="accounting/amplification.py",
        old="blocks(self.users - 1, rounded, most=most",
        new="blocks(self.users, rounded, most=most",
        tests=(f"{_AMPLIFICATION}::test_the_tight_bound_is_its_definition",),
    ),
    Fault(
        name="optimistic-blocks-of-copies",
        harm="Numbers of copies are taken together at the largest of them, as if there were more to hide among.",
        file="accounting/amplification.py",
        old="total = (first if upper else last) + 1",
        new="total = (last if upper else first) + 1",
        tests=(f"{_BLOCKS}::test_wider_blocks_of_copies_never_lower_delta",),
    ),
    Fault(
        name="optimistic-blocks-of-telling-copies",
        harm="The same for randomizers whose messages tell little.",
        file="accounting/amplification.py",
        old="_binomials(self._copies[0].tolist(), self._telling_share)",
        new="_binomials(self._copies[1].tolist(), self._telling_share)",
        tests=(f"{_BLOCKS}::test_wider_blocks_of_copies_never_lower_delta",),
    ),
    Fault(
        name="copies-rounded-up",
        harm="A rounding error makes others hide a person a little more than they do.",
        file="accounting/amplification.py",
        old="rounded = max(round_up_to_grid(copied) - 2.0**-GRID_BITS, 0.0)",
        new="rounded = round_up_to_grid(min(copied * (1 + 1e-6), 1.0))",
        tests=(f"{_BLOCKS}::test_copies_are_never_more_than_there_are",),
    ),
    Fault(
        name="only-one-event-is-tried",
        harm="Amplification looks at one event only, and rounding may have put it past the most telling one.",
        file="accounting/blanket_curve.py",
        old="for k in (first - 1, first):",
        new="for k in (first + 1,):",
        tests=(f"{_AMPLIFICATION}::test_the_tight_bound_is_its_definition",),
    ),
    Fault(
        name="amplification-rounded-to-the-wrong-side",
        harm="The allowance for rounding is taken off the amplified delta instead of added.",
        file="accounting/blanket_curve.py",
        old="np.maximum(upper, gained - lost + off)",
        new="np.maximum(upper, gained - lost - off)",
        tests=(f"{_BLOCKS}::test_the_amplified_bounds_leave_room_for_rounding",),
    ),
    Fault(
        name="local-guarantee-a-little-early",
        harm="A message is called perfectly private from an epsilon on that is below the local one.",
        file="accounting/closed_form_curves.py",
        old="if epsilon >= pure_epsilon:",
        new="if epsilon >= 0.95 * pure_epsilon:",
        tests=("tests/accounting/test_pure_curve.py",),
    ),
    Fault(
        name="local-delta-rounded-down",
        harm="The delta of a message by itself can lie below the true one by a rounding error.",
        file="accounting/closed_form_curves.py",
        old="self.pure_epsilon) * (1 + SEVERAL_OPERATIONS)",
        new="self.pure_epsilon) * (1 - SEVERAL_OPERATIONS)",
        tests=("tests/accounting/test_pure_curve.py",),
    ),
)
