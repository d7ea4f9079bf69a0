"""Programs that generate the tables and figures of README and docs: `python -m experiments.table1` and so on.

Run them from the root of the repository, or with `make table1` and so on. The defaults of each module's `main` are the
parameters of the published documents.
"""
