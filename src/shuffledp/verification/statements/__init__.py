"""The paper's statements and the protocols' promises, each beside what is exactly true."""

from shuffledp.verification.statements.catalogue import CATALOGUE, check
from shuffledp.verification.statements.verdict import Verdict

__all__ = ["CATALOGUE", "Verdict", "check"]
