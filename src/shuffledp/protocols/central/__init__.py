"""Histograms of the central model: a curator sees every value, and only the result is private."""

from shuffledp.protocols.central.laplace_histogram import LaplaceHistogram
from shuffledp.protocols.central.stability_histogram import StabilityHistogram

__all__ = ["LaplaceHistogram", "StabilityHistogram"]
