"""TLS on a connection that began without it: its bytes pass through OpenSSL's memory buffers."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from quorate_name_server.remoting.frames import MalformedError

#: The first byte of a client's first TLS record.
HANDSHAKE: Final = 0x16
_PIECE: Final = 1 << 16


class Certificates:
    """The certificate of the server, reloaded when its file changes."""

    def __init__(self, cert_file: str, key_file: str, client_ca_file: str) -> None:
        self._files: Final = (cert_file, key_file or cert_file)
        self._read_at: tuple[int, ...] = ()
        self._context: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if client_ca_file:
            self._context.load_verify_locations(client_ca_file)
            self._context.verify_mode = ssl.CERT_REQUIRED
        self.context()

    def context(self) -> ssl.SSLContext:
        """Return the TLS context of a new connection; raises `OSError`."""
        changed_at = tuple(os.stat(file).st_mtime_ns for file in self._files)
        if changed_at != self._read_at:
            # Without a password OpenSSL would prompt at the terminal, and the node would block.
            self._context.load_cert_chain(*self._files, password="")
            self._read_at = changed_at
        return self._context


class Tls:
    """The TLS of one connection; `write` sends encrypted bytes to the peer."""

    def __init__(self, context: ssl.SSLContext, write: Callable[[bytes], None]) -> None:
        self._received: Final = ssl.MemoryBIO()
        self._sent: Final = ssl.MemoryBIO()
        self._ssl: Final = context.wrap_bio(self._received, self._sent, server_side=True)
        self._write: Final = write
        self._agreed = False
        #: Whether the peer has ended it.
        self.ended = False
        #: The common name of the peer's certificate; empty without one.
        self.user = ""

    def receive(self, data: bytes) -> bytes:
        """Decrypt bytes of the peer; raises `MalformedError`."""
        self._received.write(data)
        found = []
        try:
            if not self._agreed:
                self._ssl.do_handshake()
                self._agreed = True
                self.user = _common_name(self._ssl.getpeercert() or {})
            while piece := self._ssl.read(_PIECE):
                found.append(piece)
            self._end()
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            raise MalformedError(f"TLS: {error.reason}") from None
        finally:
            self._flush()
        return b"".join(found)

    def send(self, data: bytes) -> None:
        """Encrypt bytes and send them to the peer."""
        self._ssl.write(data)
        self._flush()

    def _end(self) -> None:
        self.ended = True
        with suppress(ssl.SSLError):
            self._ssl.unwrap()

    def _flush(self) -> None:
        if sent := self._sent.read():
            self._write(sent)


def _common_name(certificate: Mapping[str, Any]) -> str:
    attributes = (each for part in certificate.get("subject", ()) for each in part)
    return next((str(value) for name, value in attributes if name == "commonName"), "")
