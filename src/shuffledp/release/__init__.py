"""Plans, releases, simulations and comparisons of private histograms."""
