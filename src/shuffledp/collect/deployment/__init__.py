"""Folders for the organisations that run the servers of a collection: keys, tokens, configuration, public values."""
