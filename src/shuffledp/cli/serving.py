"""The options that both servers have, `shuffledp shuffler` and `shuffledp analyzer`, each said once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shuffledp.cli.options import option, whole_number
from shuffledp.errors import ParameterError

if TYPE_CHECKING:
    from shuffledp.collection.service.serving import Certificate

NETWORK = "Network"

Tasks = Annotated[list[Path], option("FILE", "A task to serve; may be repeated.", name="--task")]
Port = Annotated[int, option("NUMBER", "Port to listen at; 0 is any, and is shown.", parser=whole_number)]
Host = Annotated[str, option("ADDRESS", "Where to listen; 0.0.0.0 is everywhere.", panel=NETWORK)]
CertificateFile = Annotated[
    Path | None, option("FILE", "Certificate with its chain, for TLS without a proxy.", panel=NETWORK)
]
CertificateKey = Annotated[Path | None, option("FILE", "The private key of the certificate.", panel=NETWORK)]


def certificate_of(certificate: Path | None, key: Path | None) -> Certificate | None:
    """The certificate that the options name; none behind a proxy that has one."""
    from shuffledp.collection.service.serving import Certificate

    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise ParameterError("--certificate and --certificate-key belong together: give both, or none behind a proxy")
    return Certificate(certificate=certificate, key=key)
