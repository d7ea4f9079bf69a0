"""What can go wrong with a mutant itself."""


class MutantError(Exception):
    """A mutant that cannot be planted, or tests that say nothing about it: neither caught nor survived."""
