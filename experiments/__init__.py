"""Every table and figure of README and docs, each made anew by one module: python -m experiments.table1 and so on.

Run them from the top folder of the repository; `make table1` and so on do that. Each module's `main` takes the
parameters that the documents are made with as defaults.
"""
