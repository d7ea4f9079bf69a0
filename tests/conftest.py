"""Hypothesis without time limits: a slow machine is not a failing test."""

from hypothesis import settings

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")
