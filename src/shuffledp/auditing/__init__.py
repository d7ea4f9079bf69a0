"""Statistical audits: lower bounds on the epsilon of any mechanism, used as a black box."""

from shuffledp.auditing.black_box import (
    Audit,
    audit,
    audit_outputs,
    provable_epsilon,
    released_counts,
    shuffled_messages,
    tallied_messages,
)

__all__ = [
    "Audit",
    "audit",
    "audit_outputs",
    "provable_epsilon",
    "released_counts",
    "shuffled_messages",
    "tallied_messages",
]
