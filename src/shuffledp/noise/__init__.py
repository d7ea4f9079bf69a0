"""Noise distributions on the integers: probabilities, tails, exact sampling, and their split over many users."""

from shuffledp.noise.binomial import Binomial
from shuffledp.noise.compound_poisson import CompoundPoisson
from shuffledp.noise.distribution import IntegerDistribution, Window

__all__ = ["Binomial", "CompoundPoisson", "IntegerDistribution", "Window"]
