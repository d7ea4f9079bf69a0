"""`python -m mutants`: plants faults and says which are noticed.

Exit codes: 0 every fault is caught, 1 one survives, 2 a run says nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from mutants.catalogue import FAULTS, STAGES
from mutants.fault import Fault, FaultError
from mutants.page import page, table
from mutants.runner import Result, run_tests


def main(arguments: Sequence[str] | None = None, *, known: Sequence[Fault] = FAULTS) -> int:
    """Runs what the arguments ask for; the exit code."""
    asked = _parser().parse_args(arguments)
    if asked.page:
        Path(asked.page).write_text(page(STAGES), encoding="utf-8")
        return 0
    try:
        faults = _named(asked.names, known)[:: asked.every]
        if asked.list:
            for fault in faults:
                print(f"{fault.name}: {fault.harm}")
            return 0
        results = _run(faults, jobs=asked.jobs)
    except FaultError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps([asdict(result) for result in results], indent=1) if asked.json else table(results))
    return _exit_code(results)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mutants", description="Planted privacy faults: which are noticed?")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these faults; all unless given")
    parser.add_argument("--list", action="store_true", help="what would go wrong with each, without running anything")
    parser.add_argument("--json", action="store_true", help="results as JSON")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th of them, as a sample")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time; one for each core")
    parser.add_argument("--page", metavar="FILE", help="write the page of the documentation, without running anything")
    return parser


def _named(names: Sequence[str], known: Sequence[Fault]) -> list[Fault]:
    by_name = {fault.name: fault for fault in known}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise FaultError(f"there is no fault {', '.join(unknown)}: see --list")
    return [by_name[name] for name in names] or list(known)


def _run(faults: Sequence[Fault], *, jobs: int) -> list[Result]:
    done = 0

    def told(result: Result) -> None:
        nonlocal done
        done += 1
        if sys.stderr.isatty():
            line = f"{done} of {len(faults)}: {result.name} {result.outcome}"
            print(f"\r{line:100.100}", end="" if done < len(faults) else "\n", file=sys.stderr, flush=True)

    return run_tests(faults, jobs=jobs, told=told)


def _exit_code(results: Sequence[Result]) -> int:
    outcomes = [result.outcome for result in results]
    if "survived" in outcomes:
        return 1
    return 2 if "error" in outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
