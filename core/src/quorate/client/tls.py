"""How a client knows that it talks to its cluster, and how the cluster knows the client."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from quorate.client.errors import InvalidError

if TYPE_CHECKING:
    import grpc

_CA: Final = "QUORATE_TLS_CA"
_CERT: Final = "QUORATE_TLS_CERT"
_KEY: Final = "QUORATE_TLS_KEY"

#: By words of OpenSSL and of the system: what is wrong, on which side.
_REASONS: Final = (
    ("certificate has expired", "its certificate has expired, and must be replaced there"),
    ("certificate is not yet valid", "its certificate is not valid yet; compare both clocks"),
    (
        "certificate in certificate chain",
        "the CA of its certificate is not in the file that is named here",
    ),
    ("self-signed certificate", "its certificate is self-signed, and not in the CA's file here"),
    ("local issuer certificate", "the CA of its certificate is not in the file that is named here"),
    ("mismatch", "its certificate is not for this host; use a host name it is valid for"),
    (
        # TLS stood, and the node read the client's side of it afterwards.
        "the connection was closed",
        "it ended the connection: it asks for a certificate, or refuses the one of this client, "
        "which may have expired or be of another CA",
    ),
    ("WRONG_VERSION_NUMBER", "it does not encrypt; leave out the CA, or correct the address"),
    ("Connection refused", "the connection was refused"),
)
_UNKNOWN: Final = "the connection was refused, or one end does not accept the other's certificate"

#: The authority, the key and the certificate.
Files = tuple[bytes | None, bytes | None, bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """The PEM files of an encrypted connection; replaced ones are used for the next connections.

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
        """Return the files of QUORATE_TLS_CA, QUORATE_TLS_CERT and QUORATE_TLS_KEY; None: unset."""
        ca, cert, key = (environment.get(name) or None for name in (_CA, _CERT, _KEY))
        if ca is not None:
            return cls(ca=ca, cert=cert, key=key)
        if cert is not None or key is not None:
            raise InvalidError(
                "tls", f"{_CERT} and {_KEY} need {_CA}: set it to the file of the CA"
            )
        return None

    def context(self) -> ssl.SSLContext:
        """Return the TLS context of a connection, from the current files.

        Raises `InvalidError` for files that cannot be used.
        """
        files = self.files()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.set_alpn_protocols(["h2"])
        try:
            context.load_verify_locations(cafile=str(self.ca))
            if self.cert is not None and self.key is not None:
                context.load_cert_chain(self.cert, self.key, no_password(self.key))
        except PasswordError as error:
            raise InvalidError("tls", str(error)) from None
        except ssl.SSLError as error:
            named = f"{self.ca}, {self.cert}, {self.key}" if self.cert else self.ca
            raise InvalidError("tls", f"{named}: {error.reason or error}") from error
        if self.files() != files:
            raise InvalidError("tls", f"{self.cert} is being replaced; try again")
        return context

    def credentials(self) -> grpc.ChannelCredentials:
        """Return credentials for a grpcio channel, for programs that call nodes through grpcio.

        Raises `InvalidError` for files that cannot be used, which would end the process in gRPC.
        """
        import grpc

        self.context()
        return grpc.ssl_channel_credentials(*self.files())

    def files(self) -> Files:
        """Return the contents of the files; raises `InvalidError` if one cannot be read."""
        return _read(self.ca), _read(self.key), _read(self.cert)


def why_refused(details: str) -> str:
    """Return why an encrypted connection cannot be made, of which the channel says this."""
    return next((said for word, said in _REASONS if word in details), _UNKNOWN)


class PasswordError(Exception):
    """A private key is encrypted; the text names the key and the fix."""


def no_password(key: str | Path) -> Callable[[], str]:
    """Return a password callback that refuses: OpenSSL would otherwise ask at the terminal."""

    def refuse() -> str:
        raise PasswordError(
            f"{key} has a password, which cannot be entered here; write it without one: "
            f"openssl pkey -in {key} -out FILE"
        )

    return refuse


def _read(path: str | Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InvalidError("tls", f"{path} cannot be read: {error.strerror}") from error
