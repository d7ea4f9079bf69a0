"""Pairs of laws -> privacy curves; calibration; the paper's closed forms; smooth distributions."""

from shuffledp.accounting.curve import Comparison, PrivacyCurve, Shift
from shuffledp.accounting.loss import GridLoss, PrivacyLoss

__all__ = ["Comparison", "GridLoss", "PrivacyCurve", "PrivacyLoss", "Shift"]
