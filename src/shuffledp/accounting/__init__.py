"""Privacy accounting: curves, privacy loss, composition, calibration, amplification, and the paper's closed forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shuffledp.accounting.amplification import Amplification
from shuffledp.accounting.closed_form_curves import StatedCurve
from shuffledp.accounting.composition import Composition, MomentBound, composed
from shuffledp.accounting.curve import Comparison, Curve, Guarantee, PrivacyCurve, Shift
from shuffledp.accounting.loss import GridLoss, PrivacyLoss

if TYPE_CHECKING:
    from shuffledp.accounting.blanket_curve import BlanketCurve
    from shuffledp.accounting.closed_form_curves import PureCurve, SplitAndMixCurve
    from shuffledp.accounting.group_curve import GroupCurve
    from shuffledp.accounting.support_curve import SupportCurve
    from shuffledp.accounting.threshold_curve import ThresholdCurve, ThresholdRowsCurve

    # the type checker verifies that every curve of this package implements `Curve`
    _CURVES: tuple[type[Curve], ...] = (
        PrivacyCurve,
        BlanketCurve,
        SupportCurve,
        Amplification,
        StatedCurve,
        Composition,
        PureCurve,
        SplitAndMixCurve,
        GroupCurve,
        ThresholdCurve,
        ThresholdRowsCurve,
    )

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
