"""Protocols of the shuffled model: messages are private once they are mixed."""
