"""The bars of a histogram: as text, as HTML without scripts, and on axes of matplotlib."""
