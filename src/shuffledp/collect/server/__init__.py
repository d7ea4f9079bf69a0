"""Shared by both servers: serving, HTTP, tokens, logs and metrics, pulling batches, a cache."""
