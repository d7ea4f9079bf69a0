"""The paper's statements and the protocols' promises, each beside what is exactly true."""

from shuffledp.verification.statements.by_name import NAMES, check
from shuffledp.verification.statements.verdict import Verdict

__all__ = ["NAMES", "Verdict", "check"]
