"""Conditions on the rows of a table: their grammar, and how values are compared in SQL and in memory."""
