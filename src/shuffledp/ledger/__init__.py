"""A file that knows a population and its limit, and every release that was made of its data."""

from __future__ import annotations

from shuffledp.ledger.budget import Standing
from shuffledp.ledger.entry import LedgerEntry
from shuffledp.ledger.ledger import Ledger, Spending

__all__ = ["Ledger", "LedgerEntry", "Spending", "Standing"]
