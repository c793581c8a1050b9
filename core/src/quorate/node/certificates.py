"""The certificates of a node: read at its start, and again when their files change."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import grpc
from cryptography import x509

from quorate.client.tls import PasswordError, no_password
from quorate.config.sections import TlsSection
from quorate.consensus.peer.streams import Certified, PeerTls
from quorate.node import certified
from quorate.node.certified import Certificate
from quorate.shards.timing import end, every

_log = logging.getLogger(__name__)

#: Interval between checks of the files.
LOOK_S: Final = 1.0
#: Interval between log lines about a certificate that expires soon.
_REMIND_S: Final = 24 * 3600.0
#: Maximum number of parsed certificates of callers to cache: a few nodes call all the time.
_MOST_READ: Final = 1_000


class CertificateError(Exception):
    """The files of `[tls]` cannot be used; the text names the file and the remedy."""


class _Files(NamedTuple):
    chain: bytes
    key: bytes
    #: The authorities for the certificates of other nodes, and of clients.
    ca: bytes
    client_ca: bytes

    def read(self) -> _Read:
        """Return the parsed certificates; a malformed one may raise anything."""
        return _Read(*(x509.load_pem_x509_certificates(each) for each in (self[0], *self[2:])))


class _Read(NamedTuple):
    #: The node's own first.
    chain: Sequence[Certificate]
    authorities: Sequence[Certificate]
    of_clients: Sequence[Certificate]


class Certificates:
    """The TLS contexts and credentials of a node, for its clients and the other nodes.

    The constructor raises `CertificateError`. Replaced files apply to every new connection, and
    existing ones continue; invalid files are logged and not used.
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
        self._separate: Final = tls.client_ca_file is not None
        self._files = self._read()
        self._certificates = self._files.read()
        if why := certified.untimely(self._certificates.chain[0]):
            raise CertificateError(
                f"{self._paths[0]} {why}; let the authority of the nodes sign another one"
            )
        #: The identity that a certificate of a caller proves, by certificate.
        self._known: Final[dict[bytes, Certified]] = {}
        self._reminded_at = float("-inf")
        self._replaced = 0
        #: The files that the gRPC server got last.
        self._served: _Files | None = None
        self._incoming: Final = _context(ssl.PROTOCOL_TLS_SERVER, self._paths, self._paths[2])
        self._incoming.verify_mode = ssl.CERT_REQUIRED
        self._outgoing: Final = _context(ssl.PROTOCOL_TLS_CLIENT, self._paths, self._paths[2])
        self._calls: Final = _context(ssl.PROTOCOL_TLS_CLIENT, self._paths, self._paths[2])
        self._calls.set_alpn_protocols(["h2"])
        #: For metrics and probes, whose callers need no certificate.
        self.http: Final = _context(ssl.PROTOCOL_TLS_SERVER, self._paths, None)
        #: For clients, by the protocols that ALPN offers them.
        self._clients: Final[dict[tuple[str, ...], ssl.SSLContext]] = {}
        #: Those of gRPC.
        self.grpc: Final = self.of_protocols(("h2",))
        self._following: asyncio.Task[None] | None = None
        #: The error of the last check, so that it is logged once.
        self._wrong = ""

    def peers(self) -> PeerTls:
        """Return the TLS settings of connections between nodes."""
        return PeerTls(
            self._incoming,
            self._outgoing,
            self._calls,
            lambda: self._replaced,
            self.certified,
        )

    def of_protocols(self, protocols: tuple[str, ...]) -> ssl.SSLContext:
        """Return the context for connections of clients to which ALPN offers these protocols."""
        found = self._clients.get(protocols)
        if found is None:
            found = self._clients[protocols] = _context(ssl.PROTOCOL_TLS_SERVER, self._paths, None)
            if protocols:
                found.set_alpn_protocols(list(protocols))
            if self._requires_client:
                found.verify_mode = ssl.CERT_REQUIRED
                self._trust(self._paths[2:], found)
        return found

    def certified(self, shown: bytes) -> Certified:
        """Return the identity in the certificate, PEM or DER, of a caller over established TLS."""
        known = self._known.get(shown)
        if known is None:
            if len(self._known) >= _MOST_READ:
                self._known.clear()
            known = self._known[shown] = self._certified(shown)
        return known

    def _certified(self, shown: bytes) -> Certified:
        pem = shown.startswith(b"-----")
        read = x509.load_pem_x509_certificate if pem else x509.load_der_x509_certificate
        chain, authorities, _ = self._certificates
        try:
            found = read(shown)
            # With one authority for all, only the extended key usages tell nodes from clients.
            issued = not self._separate or certified.issued_by(found, authorities, chain[1:])
            weak = certified.is_weak(found.public_key())
            names, serves = certified.names(found), certified.may_serve(found)
            return Certified(names, node=issued and serves and not weak, weak=weak)
        except Exception:  # noqa: BLE001 - a malformed one raises anything, and is no node's
            return Certified(frozenset(), node=False)

    def server_credentials(self) -> grpc.ServerCredentials:
        """Return credentials of the gRPC server that follow the files at each connection."""
        return grpc.dynamic_ssl_server_credentials(
            self._configuration(self._files),
            self._newer_configuration,  # type: ignore[arg-type]  # None: the same as before
            require_client_authentication=self._requires_client,
        )

    # Expiry.

    def ends(self) -> Mapping[str, float]:
        """Return when each file ceases to have a valid certificate, as a Unix time."""
        chain, authorities, of_clients = self._certificates
        found = {
            "cert_file": min(each.not_valid_after_utc for each in chain),
            "ca_file": max(each.not_valid_after_utc for each in authorities),
            "client_ca_file": max(each.not_valid_after_utc for each in of_clients),
        }
        return {name: moment.timestamp() for name, moment in found.items()}

    def alarms(self) -> Iterator[str]:
        """Yield a text for each certificate that expires, and why other nodes refuse this one."""
        now, own = datetime.now(UTC), self._certificates.chain[0]
        if now >= own.not_valid_after_utc:
            yield f"{self._paths[0]} has expired: no client connects to this node; replace it now"
        for path, found in zip((self._paths[0], *self._paths[2:]), self._certificates, strict=True):
            for each in dict.fromkeys(found):
                if certified.renewal(each) <= now < each.not_valid_after_utc:
                    ends = certified.day(each.not_valid_after_utc)
                    yield f"{path} expires on {ends}: replace the certificate before that"
        chain, authorities, _ = self._certificates
        for fault in certified.faults(chain, authorities, self._node):
            yield f"other nodes refuse this one: {self._paths[0]} {fault}"

    # The files.

    def follow(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start to reload the files whenever they change."""
        failed = "cannot check the certificates; trying again"
        self._following = loop.create_task(every(loop, LOOK_S, self.look, failed))

    async def stop(self) -> None:
        """Stop reloading the files."""
        await end(self._following)

    def look(self) -> None:
        """Load changed files; log invalid ones, and certificates that expire soon."""
        if time.monotonic() - self._reminded_at >= _REMIND_S:
            self._reminded_at = time.monotonic()
            for alarm in dict.fromkeys(self.alarms()):
                _log.warning("%s", alarm)
        try:
            if self._content() == self._files:
                self._wrong = ""
                return
            files = self._read()
            read = files.read()
            if why := certified.untimely(read.chain[0]):
                raise CertificateError(f"{self._paths[0]} {why}; it is not used")
            for context in (
                self._incoming,
                self._outgoing,
                self.http,
                *self._clients.values(),
                self._calls,
            ):
                _load(context, self._paths)
        except CertificateError as error:
            if str(error) != self._wrong:
                _log.warning("the node keeps the certificates that it has: %s", error)
            self._wrong = str(error)
            return
        # Former authorities stay accepted until the next start: nodes are updated one at a time.
        if files.ca != self._files.ca:
            self._trust(self._paths[2:3], self._incoming, self._outgoing, self._calls)
        if self._requires_client and files[2:] != self._files[2:]:
            self._trust(self._paths[2:], *self._clients.values())
        self._files, self._certificates, self._wrong = files, read, ""
        self._known.clear()
        self._reminded_at = float("-inf")
        self._replaced += 1
        _log.info("the certificates of %s were replaced", self._node)

    @staticmethod
    def _trust(authorities: Sequence[Path], *contexts: ssl.SSLContext) -> None:
        for context in contexts:
            for path in authorities:
                context.load_verify_locations(cafile=str(path))

    def _read(self) -> _Files:
        """Return the files after checking that they match: otherwise gRPC would end the process."""
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
        try:
            read = found.read()
            weak = [
                each.subject.rfc4514_string()
                for each in chain.from_iterable(read)
                if certified.is_weak(each.public_key())
            ]
            list(certified.faults(read.chain, read.authorities, self._node))
        except Exception as error:
            raise CertificateError(
                f"{', '.join(map(str, dict.fromkeys((self._paths[0], *self._paths[2:]))))}: one"
                f" holds a certificate that cannot be read ({error}); write it again, as PEM"
            ) from error
        if weak:
            raise CertificateError(
                f"the key of {weak[0]} is of RSA with fewer than {certified.SHORTEST_RSA} bits,"
                " which can be broken: let its authority sign a certificate with a longer key, or"
                " one of an elliptic curve"
            )
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

    # The configurations for gRPC.

    def _newer_configuration(self) -> grpc.ServerCertificateConfiguration | None:
        """Return the files if they were replaced; threads of gRPC call it for each connection."""
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
