"""The console: the analyzer's pages, for everybody (releases only) and for its operator (all that goes on)."""
