"""Integer noise laws: probabilities, exact sampling, and how a law is made of many people's small parts."""

from shuffledp.noise.binomial import Binomial
from shuffledp.noise.compound_poisson import CompoundPoisson
from shuffledp.noise.distribution import IntegerDistribution, Window

__all__ = ["Binomial", "CompoundPoisson", "IntegerDistribution", "Window"]
