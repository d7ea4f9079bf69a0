"""A shuffler: ingests reports (the first of a chain) or pulls batches (later ones), mixes and forwards batches."""
