"""A shuffler: takes reports (the first of the chain) or batches (later ones), mixes, and hands on whole batches."""
