"""Encryption: HPKE, key files, and the layers of onions in batches."""
