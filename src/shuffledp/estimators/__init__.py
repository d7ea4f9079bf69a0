"""From a tally to estimates: one module for each way in which counts are read."""
