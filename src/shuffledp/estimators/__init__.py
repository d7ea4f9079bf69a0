"""From a tally to estimates, intervals and error bounds: one module per estimator."""
