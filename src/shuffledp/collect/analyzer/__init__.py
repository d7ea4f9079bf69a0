"""The analyzer: opens the messages of whole batches, counts them, and publishes releases within the ledger."""
