"""Timing by the best of several runs, and Markdown tables."""

import time


def best_of(function, *, rounds=5, warm_up=1):
    """Return the seconds of the fastest run."""
    for _ in range(warm_up):
        function()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def table(title, header, rows):
    """Print a Markdown table."""
    print(f"\n### {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
