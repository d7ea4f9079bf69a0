"""The pipeline that all protocols share: values, messages, the shuffler, tallies, estimates."""
