"""Simulated people, and a whole collection on one machine."""
