"""The certificates of a node: read at its start, and again when their files change."""

from __future__ import annotations

import asyncio
import logging
import ssl
from pathlib import Path
from typing import Final, NamedTuple

import grpc

from quorate.client.tls import PasswordError, no_password
from quorate.config.sections import TlsSection
from quorate.consensus.peer.streams import PeerTls
from quorate.groups.timing import end, every

_log = logging.getLogger(__name__)

#: How often the files are looked at.
LOOK_S: Final = 1.0


class CertificateError(Exception):
    """The files of `[tls]` cannot be used; the text says which, and what to do."""


class _Files(NamedTuple):
    chain: bytes
    key: bytes
    #: What other nodes' certificates are checked against, and clients'.
    ca: bytes
    client_ca: bytes


class Certificates:
    """What TLS stands on for a node, its clients and the other nodes.

    The constructor raises `CertificateError`. Replaced files are used for every connection from
    then on, and those that stand go on; files that cannot be used are named in the log.
    """

    def __init__(self, tls: TlsSection, node: str) -> None:
        assert tls.cert_file is not None
        assert tls.key_file is not None
        assert tls.ca_file is not None
        self._paths: Final = (
            tls.cert_file,
            tls.key_file,
            tls.ca_file,
            tls.client_ca_file or tls.ca_file,
        )
        self._requires_client: Final = tls.require_client_cert
        self._node: Final = node
        self._files = self._read()
        self._replaced = 0
        #: The files that the gRPC server was given last.
        self._served: _Files | None = None
        self._incoming: Final = _context(ssl.PROTOCOL_TLS_SERVER, self._paths, self._paths[2])
        self._incoming.verify_mode = ssl.CERT_REQUIRED
        self._outgoing: Final = _context(ssl.PROTOCOL_TLS_CLIENT, self._paths, self._paths[2])
        #: For metrics and probes, which show no certificate of their own.
        self.http: Final = _context(ssl.PROTOCOL_TLS_SERVER, self._paths, None)
        self._following: asyncio.Task[None] | None = None
        #: What was wrong at the last look, so that it is logged once.
        self._wrong = ""

    def peers(self) -> PeerTls:
        """Return what connections between nodes are encrypted with."""
        return PeerTls(
            self._incoming, self._outgoing, self._channel_credentials, lambda: self._replaced
        )

    def server_credentials(self) -> grpc.ServerCredentials:
        """Return what the gRPC server is encrypted with, as the files are at each connection."""
        return grpc.dynamic_ssl_server_credentials(
            self._configuration(self._files),
            self._newer_configuration,  # type: ignore[arg-type]  # None: the same as before
            require_client_authentication=self._requires_client,
        )

    # The files.

    def follow(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read the files again whenever they change."""
        failed = "cannot look at the certificates; trying again"
        self._following = loop.create_task(every(loop, LOOK_S, self.look, failed))

    async def stop(self) -> None:
        """Read them no more."""
        await end(self._following)

    def look(self) -> None:
        """Use the files as they are now; what cannot be used is logged."""
        try:
            if self._content() == self._files:
                self._wrong = ""
                return
            files = self._read()
            for context in (self._incoming, self._outgoing, self.http):
                _load(context, self._paths)
        except CertificateError as error:
            if str(error) != self._wrong:
                _log.warning("the node keeps the certificates that it has: %s", error)
            self._wrong = str(error)
            return
        if files.ca != self._files.ca:
            # Those of before stay accepted until the next start: nodes are replaced one by one.
            for context in (self._incoming, self._outgoing):
                context.load_verify_locations(cafile=str(self._paths[2]))
        self._files, self._wrong = files, ""
        self._replaced += 1
        _log.info("the certificates of %s were replaced", self._node)

    def _read(self) -> _Files:
        """Return the files, which belong together: gRPC would end the process over others."""
        found = self._content()
        fresh = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        _load(fresh, self._paths)
        for path in self._paths[2:]:
            try:
                fresh.load_verify_locations(cafile=str(path))
            except ssl.SSLError as error:
                raise CertificateError(
                    f"{path} holds no certificate: {error.reason}; name a PEM file of the "
                    "authority that signs the nodes' certificates"
                ) from error
        if self._content() != found:
            raise CertificateError(f"{self._paths[0]} is being replaced; it is read again soon")
        return found

    def _content(self) -> _Files:
        found = []
        for path in self._paths:
            try:
                found.append(path.read_bytes())
            except OSError as error:
                raise CertificateError(
                    f"{path} cannot be read: {error.strerror}; correct [tls] in the configuration"
                ) from error
        return _Files(*found)

    # What gRPC is given.

    def _newer_configuration(self) -> grpc.ServerCertificateConfiguration | None:
        """Return the files if they were replaced; threads of gRPC ask for each connection."""
        files = self._files
        if files is self._served:
            return None
        self._served = files
        return self._configuration(files)

    def _configuration(self, files: _Files) -> grpc.ServerCertificateConfiguration:
        # Nodes call each other here as well.
        authority = files.ca + b"\n" + files.client_ca if self._requires_client else None
        return grpc.ssl_server_certificate_configuration(
            [(files.key, files.chain)], root_certificates=authority
        )

    def _channel_credentials(self) -> grpc.ChannelCredentials:
        files = self._files
        return grpc.ssl_channel_credentials(files.ca, files.key, files.chain)


_Paths = tuple[Path, Path, Path, Path]


def _context(protocol: int, paths: _Paths, authority: Path | None) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    _load(context, paths)
    if authority is not None:
        context.load_verify_locations(cafile=str(authority))
    return context


def _load(context: ssl.SSLContext, paths: _Paths) -> None:
    chain, key, *_ = paths
    try:
        context.load_cert_chain(chain, key, no_password(key))
    except PasswordError as error:
        raise CertificateError(f"{error}; correct [tls] in the configuration") from None
    except (ssl.SSLError, OSError) as error:
        reason = getattr(error, "reason", None) or error.strerror or error
        raise CertificateError(
            f"{chain} and {key} are no certificate with its key: {reason}; both must be PEM files "
            "that belong together"
        ) from error
