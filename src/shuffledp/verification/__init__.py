"""Independent checks: enumeration in exact fractions, the pure-privacy results, and audits."""
