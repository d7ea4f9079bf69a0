"""Protocols of the shuffled model, in which messages are private once they are mixed."""
