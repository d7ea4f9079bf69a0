"""Privacy accounting: curves, privacy loss, composition, calibration, amplification, and the paper's closed forms."""

from shuffledp.accounting.amplification import Amplification
from shuffledp.accounting.bounds import Curve, StatedCurve
from shuffledp.accounting.composition import Composition, MomentBound, composed
from shuffledp.accounting.curve import Comparison, Guarantee, PrivacyCurve, Shift
from shuffledp.accounting.loss import GridLoss, PrivacyLoss

__all__ = [
    "Amplification",
    "Comparison",
    "Composition",
    "Curve",
    "GridLoss",
    "Guarantee",
    "MomentBound",
    "PrivacyCurve",
    "PrivacyLoss",
    "Shift",
    "StatedCurve",
    "composed",
]
