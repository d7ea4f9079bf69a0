"""Outcomes that the shipped code draws, counted and compared with the law that is accounted for."""
