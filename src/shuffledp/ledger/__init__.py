"""A file with a population, its privacy limit, and every release of its data."""

from __future__ import annotations

from shuffledp.ledger.budget import LedgerEntry, Standing
from shuffledp.ledger.ledger import Ledger, Spending, Spent

__all__ = ["Ledger", "LedgerEntry", "Spending", "Spent", "Standing"]
