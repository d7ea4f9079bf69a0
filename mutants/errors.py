"""The error of a mutant that cannot be tested."""


class MutantError(Exception):
    """A mutant that cannot be applied, or whose tests cannot be run: neither caught nor survived."""
