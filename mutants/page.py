"""The results as a table, and the page of the documentation that lists all faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mutants.fault import Fault
from mutants.runner import Result

_OPENING = """# Planted faults

<!-- Written by `python -m mutants --page`; a test compares it with the faults themselves. -->

Would anybody notice a small mistake in this library that harms people? These {number} are planted one at a time in a
copy of the package, and the tests that should notice are run: `make mutants`, or `python -m mutants NAME` for one. A
fault that survives makes it fail.
"""

_EQUIVALENT = "\nNo test can notice these, because they harm nobody:\n"


def table(results: Sequence[Result]) -> str:
    """One line for each fault: what became of it, who noticed, and the time; then the sum."""
    width = max(len(result.name) for result in results)
    lines = [f"{'fault':{width}}  {'result':10}  {'seconds':>7}  caught by"]
    for result in results:
        lines.append(f"{result.name:{width}}  {result.outcome:10}  {result.seconds:7.1f}  {result.by}".rstrip())
    caught, survived, equivalent, errors = (
        sum(result.outcome == outcome for result in results)
        for outcome in ("caught", "survived", "equivalent", "error")
    )
    lines.append(f"{caught} of {len(results)} caught, {survived} survived, {equivalent} equivalent, {errors} errors")
    return "\n".join(lines)


def page(stages: Mapping[str, Sequence[Fault]]) -> str:
    """The page in Markdown, a table for each stage."""
    faults = [fault for stage in stages.values() for fault in stage]
    parts = [_OPENING.format(number=len(faults))]
    for stage, listed in stages.items():
        parts += [f"\n## {stage}\n\n", "| fault | what would go wrong | in | noticed by |\n|---|---|---|---|\n"]
        parts += [_row(fault) for fault in listed if not fault.equivalent]
    equivalent = [fault for fault in faults if fault.equivalent]
    if equivalent:
        parts += ["\n## Equivalent\n", _EQUIVALENT, "\n| fault | change | why it harms nobody |\n|---|---|---|\n"]
        parts += [f"| {fault.name} | {fault.harm} | {fault.equivalent} |\n" for fault in equivalent]
    return "".join(parts)


def _row(fault: Fault) -> str:
    tests = "<br>".join(f"`{test.removeprefix('tests/').replace('|', chr(92) + '|')}`" for test in fault.tests)
    return f"| {fault.name} | {fault.harm} | `{fault.file}` | {tests} |\n"
