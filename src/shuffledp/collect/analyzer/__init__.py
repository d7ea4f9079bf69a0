"""The analyzer: opens the messages of whole batches, counts them, and publishes what the ledger allows."""
