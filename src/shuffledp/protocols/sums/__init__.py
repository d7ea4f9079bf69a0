"""Sums of bits and of real numbers in the shuffled model."""
