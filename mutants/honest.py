"""Faults of whose noise counts: only that of people who follow the protocol."""

from mutants.fault import Fault

_CONTRACT = "tests/protocols/test_contract.py"
_HONEST = "tests/protocols/test_honest_sums.py"


def _honest(name: str, entry: str, file: str, old: str, new: str, harm: str) -> Fault:
    """Noise that is calibrated or accounted for all people instead of the honest ones."""
    tests = (f"{_CONTRACT}::test_only_honest_people_count[{entry}]",)
    return Fault(name=name, harm=harm, file=file, old=old, new=new, tests=tests)


def _accounted(what: str) -> str:
    return f"{what} is accounted as if everybody made noise, also those who may not follow the protocol."


def _chosen(what: str) -> str:
    return f"{what} has noise for which everybody is needed, also those who may not follow the protocol."


FAULTS = (
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
        "protocols/shuffled/sparse.py",
        "honest = self._laws.scaled(self.honest / self.users)",
        "honest = self._laws",
        _accounted("SparseHistogram"),
    ),
    _honest(
        "blanket-calibrated-for-all",
        "blanket",
        "protocols/sums/blanket_sum.py",
        "_allowed_flips(target.honest,",
        "_allowed_flips(target.users,",
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
        "protocols/shuffled/private_coin.py",
        "math.ceil(_fewest_noise(elements, epsilon, delta) / honest)",
        "math.ceil(_fewest_noise(elements, epsilon, delta) / target.users)",
        _chosen("The private coin protocol"),
    ),
    _honest(
        "private-coin-accounted-for-all",
        "private-coin",
        "protocols/shuffled/private_coin.py",
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
