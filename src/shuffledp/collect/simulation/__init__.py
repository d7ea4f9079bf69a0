"""A whole collection on one machine, for `shuffledp up`: its files, its processes, and simulated people."""
