"""How a client knows that it talks to its cluster, and how the cluster knows the client."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import grpc

from quorate.client.errors import InvalidError

_CA: Final = "QUORATE_TLS_CA"
_CERT: Final = "QUORATE_TLS_CERT"
_KEY: Final = "QUORATE_TLS_KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """The PEM files of an encrypted connection; they are read when a connection is opened.

    A node's certificate must be for the host by which the client reaches it.
    """

    #: The certificates of the authority that has signed the nodes'.
    ca: str | Path
    #: The client's own certificate and its key, where the cluster requires one.
    cert: str | Path | None = None
    key: str | Path | None = None

    def __post_init__(self) -> None:
        if (self.cert is None) != (self.key is None):
            raise InvalidError("tls", "cert and key go together: give both or neither")

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Self | None:
        """Return what QUORATE_TLS_CA, QUORATE_TLS_CERT and QUORATE_TLS_KEY say; None: nothing."""
        ca, cert, key = (environment.get(name) or None for name in (_CA, _CERT, _KEY))
        if ca is not None:
            return cls(ca=ca, cert=cert, key=key)
        if cert is not None or key is not None:
            raise InvalidError(
                "tls", f"{_CERT} and {_KEY} need {_CA}: set it to the file of the CA"
            )
        return None

    def credentials(self) -> grpc.ChannelCredentials:
        """Return what a gRPC channel needs, from the files as they are now.

        Raises `InvalidError` for files that cannot be used, which would end the process in gRPC.
        """
        files = self._read()
        checked = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            checked.load_verify_locations(cafile=str(self.ca))
            if self.cert is not None and self.key is not None:
                checked.load_cert_chain(self.cert, self.key)
        except ssl.SSLError as error:
            named = f"{self.ca}, {self.cert}, {self.key}" if self.cert else self.ca
            raise InvalidError("tls", f"{named}: {error.reason or error}") from error
        if self._read() != files:
            raise InvalidError("tls", f"{self.cert} is being replaced; try again")
        return grpc.ssl_channel_credentials(*files)

    def _read(self) -> tuple[bytes | None, bytes | None, bytes | None]:
        return _read(self.ca), _read(self.key), _read(self.cert)


def _read(path: str | Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InvalidError("tls", f"{path} cannot be read: {error.strerror}") from error
