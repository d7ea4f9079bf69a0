"""Independent checks: enumeration in exact fractions, the pure-privacy results, statements with their slack, audits."""
