"""Certificates are read when the node starts and when they change, and never half."""

from __future__ import annotations

import logging
import shutil
import socket
import ssl
import threading
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from quorate.cli.authority import make_authority, sign
from quorate.config.sections import TlsSection
from quorate.node.certificates import CertificateError, Certificates


@pytest.fixture
def files(tmp_path: Path) -> TlsSection:
    make_authority(tmp_path)
    for name in ("n1", "n2"):
        sign(tmp_path, name, [name])
    return TlsSection(
        cert_file=tmp_path / "n1.pem", key_file=tmp_path / "n1.key", ca_file=tmp_path / "ca.pem"
    )


def locked(key: Path) -> None:
    """Encrypt a private key with a password."""
    private = serialization.load_pem_private_key(key.read_bytes(), None)
    key.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )


def shown(server: ssl.SSLContext, client: ssl.SSLContext, name: str = "n1") -> bytes:
    """Return the certificate that a client gets; raises `ssl.SSLError` when one refuses the other.

    With TLS 1.3 the server judges after the client has finished: it is read from once.
    """
    ours, theirs = socket.socketpair()
    refused: list[Exception] = []

    def serve() -> None:
        try:
            with server.wrap_socket(theirs, server_side=True) as stream:
                stream.sendall(b".")
        except OSError as error:
            refused.append(error)
            theirs.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with closing(client.wrap_socket(ours, server_hostname=name)) as stream:
            found = stream.getpeercert(binary_form=True)
            if not stream.recv(1):
                raise ssl.SSLError("the server refused")
    finally:
        ours.close()
        thread.join()
    assert found is not None
    return found


def test_nodes_show_each_other_their_certificates(files: TlsSection) -> None:
    peers = Certificates(files, "n1").peers()
    assert shown(peers.incoming, peers.outgoing)
    with pytest.raises(ssl.SSLError, match="Hostname mismatch"):
        shown(peers.incoming, peers.outgoing, "n2")


def test_a_caller_without_a_certificate_is_refused(files: TlsSection) -> None:
    peers = Certificates(files, "n1").peers()
    with pytest.raises(ssl.SSLError):
        shown(peers.incoming, ssl.create_default_context(cafile=str(files.ca_file)))


def test_a_certificate_of_another_authority_is_refused(files: TlsSection, tmp_path: Path) -> None:
    other = tmp_path / "other"
    make_authority(other)
    sign(other, "n1", ["n1"])
    foreign = Certificates(
        TlsSection(
            cert_file=other / "n1.pem", key_file=other / "n1.key", ca_file=tmp_path / "ca.pem"
        ),
        "n1",
    ).peers()
    own = Certificates(files, "n1").peers()
    with pytest.raises(ssl.SSLError):
        shown(own.incoming, foreign.outgoing)
    with pytest.raises(ssl.SSLError):
        shown(foreign.incoming, own.outgoing)


def test_replaced_files_are_used_for_new_connections(files: TlsSection, tmp_path: Path) -> None:
    certificates = Certificates(files, "n1")
    peers = certificates.peers()
    before = shown(peers.incoming, peers.outgoing)
    certificates.look()
    assert shown(peers.incoming, peers.outgoing) == before
    assert peers.replaced() == 0

    sign(tmp_path, "n1", ["n1"])
    certificates.look()
    assert shown(peers.incoming, peers.outgoing) != before
    assert peers.replaced() == 1


def test_files_that_are_the_same_are_only_compared(
    files: TlsSection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event loop looks at them every second; an authority of a system takes it 20 ms."""
    certificates = Certificates(files, "n1")
    monkeypatch.setattr("ssl.SSLContext", None)
    certificates.look()
    assert certificates.peers().replaced() == 0


def test_files_that_do_not_belong_together_are_not_used(
    files: TlsSection, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    certificates = Certificates(files, "n1")
    peers = certificates.peers()
    before = shown(peers.incoming, peers.outgoing)
    shutil.copy(tmp_path / "n2.key", tmp_path / "n1.key")
    with caplog.at_level(logging.WARNING):
        certificates.look()
        certificates.look()
    assert [record.getMessage() for record in caplog.records] == [
        f"the node keeps the certificates that it has: {tmp_path / 'n1.pem'} and"
        f" {tmp_path / 'n1.key'} are no certificate with its key: KEY_VALUES_MISMATCH; both must be"
        " PEM files that belong together"
    ]
    assert shown(peers.incoming, peers.outgoing) == before
    assert peers.replaced() == 0


@pytest.mark.parametrize("name", ["n1.pem", "n1.key", "ca.pem"])
def test_a_node_does_not_start_without_its_files(
    files: TlsSection, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("nothing")
    with pytest.raises(CertificateError, match=name):
        Certificates(files, "n1")
    (tmp_path / name).unlink()
    with pytest.raises(CertificateError, match=f"{name} cannot be read: No such file"):
        Certificates(files, "n1")


def test_nobody_is_asked_for_the_password_of_a_key(files: TlsSection, tmp_path: Path) -> None:
    locked(tmp_path / "n1.key")
    with pytest.raises(CertificateError, match=r"n1\.key has a password, .* openssl pkey -in "):
        Certificates(files, "n1")
