"""`python -m mutants`: apply mutants one at a time and report which of them the tests catch.

Exit codes: 0 every mutant is caught, 1 one survives, 2 a mutant or its tests cannot be run.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from mutants.catalogue import MUTANTS
from mutants.errors import MutantError
from mutants.mutant import Mutant
from mutants.runner import Result, run


def main(arguments: Sequence[str] | None = None, *, known: Sequence[Mutant] = MUTANTS) -> int:
    """Run the named mutants, or all; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m mutants", description="Do the tests catch each privacy mutant?")
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants to run (default: all)")
    parser.add_argument("--list", action="store_true", help="describe the mutants and run nothing")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="mutants at a time (default: one per core)"
    )
    options = parser.parse_args(arguments)
    try:
        mutants = _named(options.names, known)
        if options.list:
            print("\n".join(f"{mutant.name}: {mutant.harm}" for mutant in mutants))
            return 0
        results = run(mutants, jobs=options.jobs, report=_print)
    except MutantError as error:
        print(error, file=sys.stderr)
        return 2
    outcomes = [result.outcome for result in results]
    print(", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in ("caught", "survived", "error")))
    if "error" in outcomes:
        return 2
    return 1 if "survived" in outcomes else 0


def _named(names: Sequence[str], known: Sequence[Mutant]) -> list[Mutant]:
    by_name = {mutant.name: mutant for mutant in known}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise MutantError(f"unknown mutant {', '.join(unknown)}: see --list")
    return [by_name[name] for name in names] or list(known)


def _print(result: Result) -> None:
    print(f"{result.outcome:8}  {result.seconds:5.1f} s  {result.name}  {result.detail}".rstrip(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
