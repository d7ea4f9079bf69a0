"""Mutation testing of privacy: small changes of the package, each of which a test must catch.

`make mutants` applies the mutants one at a time to a copy of the package and runs their tests. `python -m mutants NAME`
runs single ones, `python -m mutants --list` describes them.
"""
