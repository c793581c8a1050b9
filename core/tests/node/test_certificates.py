"""Certificates are read when the node starts and when they change, and never half."""

from __future__ import annotations

import logging
import shutil
import socket
import ssl
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from quorate.cli import authority
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


def at(monkeypatch: pytest.MonkeyPatch, moment: datetime) -> None:
    """Let certificates be signed at another time."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return moment

    monkeypatch.setattr(authority, "datetime", Clock)


def certificates(
    files: TlsSection, *, node: str = "n1", clients: Path | None = None
) -> Certificates:
    return Certificates(files.model_copy(update={"client_ca_file": clients}), node)


@pytest.mark.parametrize(
    ("begins_in_days", "said"),
    [(-400, "expired on"), (400, "begins on .*, later than this machine's clock")],
)
def test_a_node_does_not_start_with_a_certificate_of_another_time(
    files: TlsSection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    begins_in_days: int,
    said: str,
) -> None:
    at(monkeypatch, datetime.now(UTC) + timedelta(days=begins_in_days))
    sign(tmp_path, "n1", ["n1"])
    with pytest.raises(CertificateError, match=rf"n1\.pem {said}.*sign another one"):
        Certificates(files, "n1")


def test_a_certificate_that_has_ended_does_not_replace_one_that_has_not(
    files: TlsSection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = Certificates(files, "n1")
    at(monkeypatch, datetime.now(UTC) - timedelta(days=400))
    sign(tmp_path, "n1", ["n1"])
    with caplog.at_level(logging.WARNING):
        found.look()
    assert "it is not used" in caplog.text
    assert found.peers().replaced() == 0


def test_one_that_ends_soon_is_logged_once_a_day_and_an_alarm(
    files: TlsSection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert list(Certificates(files, "n1").alarms()) == []
    at(monkeypatch, datetime.now(UTC) - timedelta(days=340))
    sign(tmp_path, "n1", ["n1"])
    found = Certificates(files, "n1")
    with caplog.at_level(logging.WARNING):
        found.look()
        found.look()

    [alarm] = found.alarms()
    assert [record.getMessage() for record in caplog.records] == [alarm]
    assert f"{tmp_path / 'n1.pem'} expires on " in alarm
    left = timedelta(seconds=found.ends()["cert_file"]) - timedelta(
        seconds=datetime.now(UTC).timestamp()
    )
    assert timedelta(days=24) < left < timedelta(days=26)

    monkeypatch.undo()
    sign(tmp_path, "n1", ["n1"])
    found.look()
    assert list(found.alarms()) == []


def test_a_short_life_is_no_alarm_from_its_beginning(files: TlsSection, tmp_path: Path) -> None:
    sign(tmp_path, "n1", ["n1"], days=1)
    assert list(Certificates(files, "n1").alarms()) == []


def test_why_other_nodes_refuse_it_is_an_alarm_where_it_can_be_repaired(
    files: TlsSection, tmp_path: Path
) -> None:
    sign(tmp_path, "n1", ["elsewhere"], serves=False)
    other, client = Certificates(files, "n1").alarms()
    assert "names elsewhere, and not 'n1': add DNS:n1 to its subjectAltName" in other
    assert "is a client's: its extended key usages need serverAuth" in client

    foreign = tmp_path / "foreign"
    make_authority(foreign)
    sign(foreign, "n1", ["n1"])
    for name in ("n1.pem", "n1.key"):
        shutil.copy(foreign / name, tmp_path)
    [stranger] = Certificates(files, "n1").alarms()
    assert "is of CN=Quorate trial CA, which is not in tls.ca_file" in stranger


def test_a_self_signed_certificate_is_refused_unless_it_is_trusted(
    files: TlsSection, tmp_path: Path
) -> None:
    make_authority(tmp_path / "self")
    for kind in ("pem", "key"):
        shutil.copy(tmp_path / "self" / f"ca.{kind}", tmp_path / f"n1.{kind}")
    alarms = list(Certificates(files, "n1").alarms())
    assert any("is self-signed, and not in tls.ca_file" in each for each in alarms)
    shutil.copy(tmp_path / "n1.pem", tmp_path / "ca.pem")
    alarms = list(Certificates(files, "n1").alarms())
    assert not any("self-signed" in each for each in alarms)


def test_a_client_is_no_node_whatever_its_name_is(files: TlsSection, tmp_path: Path) -> None:
    sign(tmp_path, "n3", ["n2"], serves=False)
    clients = tmp_path / "clients"
    make_authority(clients)
    sign(clients, "n2", ["n2"])
    shown = {
        name: path.read_bytes()
        for name, path in {
            "node": tmp_path / "n2.pem",
            "client": tmp_path / "n3.pem",
            "of clients": clients / "n2.pem",
        }.items()
    }

    one = certificates(files)
    assert one.certified(shown["node"]) == (frozenset({"n2"}), True, False)
    assert one.certified(shown["client"]) == (frozenset({"n2"}), False, False)
    two = certificates(files, clients=clients / "ca.pem")
    assert two.certified(shown["node"]).node
    assert not two.certified(shown["of clients"]).node
    assert two.certified(b"nothing") == (frozenset(), False, False)


@pytest.mark.parametrize(("bits", "weak"), [(1_024, True), (2_048, False)])
def test_a_short_key_of_rsa_proves_nothing(
    files: TlsSection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bits: int, weak: bool
) -> None:
    key = rsa.generate_private_key(65_537, bits)
    with monkeypatch.context() as patched:
        patched.setattr(ec, "generate_private_key", lambda _: key)
        sign(tmp_path, "n2", ["n2"])
        make_authority(tmp_path / "other")
    shown = (tmp_path / "n2.pem").read_bytes()

    assert Certificates(files, "n1").certified(shown) == (frozenset({"n2"}), not weak, weak)
    ca = (tmp_path / "other" / "ca.pem").read_bytes()
    (tmp_path / "ca.pem").write_bytes((tmp_path / "ca.pem").read_bytes() + ca)
    if weak:
        with pytest.raises(CertificateError, match="fewer than 2048 bits"):
            Certificates(files, "n1")
    else:
        Certificates(files, "n1")


def test_a_certificate_is_read_alike_in_both_forms(files: TlsSection, tmp_path: Path) -> None:
    pem = (tmp_path / "n2.pem").read_bytes()
    der = ssl.PEM_cert_to_DER_cert(pem.decode())
    found = Certificates(files, "n1")
    assert found.certified(der) == found.certified(pem)


def test_an_authority_between_is_taken_from_the_nodes_own_chain(
    files: TlsSection, tmp_path: Path
) -> None:
    between = tmp_path / "between"
    between.mkdir()
    signing = serialization.load_pem_private_key((tmp_path / "ca.key").read_bytes(), None)
    assert isinstance(signing, ec.EllipticCurvePrivateKey)
    root = x509.load_pem_x509_certificate((tmp_path / "ca.pem").read_bytes())
    name, critical = authority._named("between"), (x509.BasicConstraints(ca=True, path_length=0),)
    authority._issue(between, "ca", name, root.subject, signing, 10, critical)
    for node in ("n1", "n2"):
        sign(between, node, [node])
    chain = (between / "n1.pem").read_bytes() + (between / "ca.pem").read_bytes()
    (tmp_path / "n1.pem").write_bytes(chain)
    shutil.copy(between / "n1.key", tmp_path)

    found = certificates(files, clients=tmp_path / "ca.pem")
    assert list(found.alarms()) == []
    assert found.certified((between / "n2.pem").read_bytes()).node


def test_ports_of_plugins_ask_clients_for_what_the_node_asks(
    files: TlsSection, tmp_path: Path
) -> None:
    clients = tmp_path / "clients"
    make_authority(clients)
    sign(clients, "loader", ["loader"])
    asking = ssl.create_default_context(cafile=str(files.ca_file))
    assert shown(Certificates(files, "n1").of_protocols(()), asking)

    strict = files.model_copy(
        update={"client_ca_file": clients / "ca.pem", "require_client_cert": True}
    )
    found = Certificates(strict, "n1")
    with pytest.raises(ssl.SSLError):
        shown(found.of_protocols(()), asking)
    asking.load_cert_chain(clients / "loader.pem", clients / "loader.key")
    before = shown(found.of_protocols(()), asking)
    sign(tmp_path, "n1", ["n1"])
    found.look()
    assert shown(found.of_protocols(()), asking) != before
