"""A file that knows a population and its limit, and every release that was made of its data."""

from __future__ import annotations

from shuffledp.ledger.entry import LedgerEntry
from shuffledp.ledger.ledger import Ledger
from shuffledp.ledger.spending import Spending
from shuffledp.ledger.standing import Standing

__all__ = ["Ledger", "LedgerEntry", "Spending", "Standing"]
