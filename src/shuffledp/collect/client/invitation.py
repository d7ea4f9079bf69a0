"""Invitation links: the survey page of a task with a token or a secret in the fragment of its address.

Browsers never send a fragment to a server, so the token is in no request line, log or referrer. The link names the task
by its id, so it also pins the task.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import unquote

from shuffledp.collect.client.transport import SECONDS, fetch, is_admission
from shuffledp.collect.task import Series, Task, tasks_of
from shuffledp.collect.task.public_file import MOST_FILE_BYTES
from shuffledp.errors import ParameterError

_LINK = re.compile(r"(https?://[^\s?#@]+)/ask/(series/)?([0-9a-f]{64})/?#token=(\S*)")


@dataclass(frozen=True, kw_only=True)
class Invitation:
    """A link that was read: the server of the page, the id of the task or series, and what admits the person."""

    address: str
    id: str
    is_series: bool
    admission: str = field(repr=False)

    @classmethod
    def read(cls, link: str) -> Invitation:
        """Read a link; errors do not show it, since it is a secret."""
        found = _LINK.fullmatch(link.strip()) if isinstance(link, str) else None
        if found is None:
            raise ParameterError("invitation must be a link such as https://host/ask/ID#token=..., copied as a whole")
        admission = unquote(found[4])  # some programs escape signs in links
        if not is_admission(admission):
            raise ParameterError("invitation must have a token after #token=: copy the link as a whole")
        return cls(address=found[1], id=found[3], is_series=found[2] is not None, admission=admission)

    def fetch(self, *, timeout: float = SECONDS) -> bytes:
        """Fetch the task or series that the link names; its reader must check the id."""
        kind = "series" if self.is_series else "tasks"
        return fetch(f"{self.address}/v1/{kind}/{self.id}", most=MOST_FILE_BYTES, timeout=timeout)


def invitation_link(asked: Task | Series, admission: str) -> str:
    """Return the link to the survey page that admits a person; of a series, it leads to the open round."""
    if asked.admission == "anybody":
        raise ParameterError("task must require a secret or tokens to have invitation links, got one for anybody")
    if not is_admission(admission):
        raise ParameterError("admission must be text of letters, digits and the characters . _ ~ + / - =")
    page = f"series/{asked.name}" if isinstance(asked, Series) else asked.name
    address = tasks_of(asked)[0].shufflers[0].address.rstrip("/")
    return f"{address}/ask/{page}#token={admission}"
