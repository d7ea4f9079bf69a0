"""Planted faults: small mistakes that would harm people's privacy, each of which a test must notice.

`make mutants` applies them one at a time to a copy of the package and runs the tests that should notice. `python -m
mutants NAME` runs single ones; docs/reference/planted-faults.md lists them all.
"""
