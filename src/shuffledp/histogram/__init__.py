"""The steps that all protocols share: domains, labels, the shuffler, tallies and estimates."""
