"""`python -m shuffledp` is the `shuffledp` command."""

from shuffledp.cli import main

main()
