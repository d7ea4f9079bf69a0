"""Statistical audits: lower bounds on the epsilon of any mechanism, used as a black box."""

from shuffledp.verification.audit.black_box import (
    Audit,
    audit,
    audit_outputs,
    released_counts,
    shuffled_messages,
    tallied_messages,
)

__all__ = ["Audit", "audit", "audit_outputs", "released_counts", "shuffled_messages", "tallied_messages"]
