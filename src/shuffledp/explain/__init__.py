"""Pictures; no computation of their own."""
