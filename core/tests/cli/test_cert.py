"""`quorate cert`: what it makes, who may read it, and how it refuses."""

from __future__ import annotations

import json
import socket
import ssl
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from core.tests.cli.conftest import Run

CERTS = Path("quorate-certs")


@pytest.fixture
def authority(run: Run) -> Path:
    assert run("cert", "init").code == 0
    return CERTS / "ca.pem"


def served(node: str, ca: Path, host: str, client: str = "") -> ssl.SSLSocket | None:
    """Connect as strictly as TLS can be; None: one end refuses the other."""
    offered = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    offered.load_cert_chain(CERTS / f"{node}.pem", CERTS / f"{node}.key")
    trusting = ssl.create_default_context(cafile=str(ca))
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT
    if client:
        trusting.load_cert_chain(CERTS / f"{client}.pem", CERTS / f"{client}.key")
        offered.load_verify_locations(cafile=str(ca))
        offered.verify_mode = ssl.CERT_REQUIRED
        offered.verify_flags |= ssl.VERIFY_X509_STRICT
    ours, theirs = socket.socketpair()

    def serve() -> None:
        with suppress(OSError), theirs, offered.wrap_socket(theirs, server_side=True) as stream:
            stream.sendall(b".")

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with ours, trusting.wrap_socket(ours, server_hostname=host) as stream:
            return stream if stream.recv(1) else None
    except ssl.SSLError:
        return None
    finally:
        thread.join()


def test_a_node_and_a_client_accept_each_other(run: Run, authority: Path) -> None:
    assert run("cert", "create", "n1", "--host", "q1.example", "--host", "192.0.2.1").code == 0
    assert run("cert", "create", "n2").code == 0
    assert run("cert", "create", "--client", "loader").code == 0

    for host in ("n1", "q1.example", "192.0.2.1"):
        assert served("n1", authority, host, "loader")
    # Nodes call each other with the certificates that they serve.
    for host in ("n2", "localhost", "127.0.0.1"):
        assert served("n2", authority, host, "n1")
    assert not served("n1", authority, "n2")
    # Whose certificate is a client's serves nobody, not even under its own name.
    assert not served("loader", authority, "loader")


def test_the_settings_that_take_the_files_are_told(run: Run, authority: Path) -> None:
    told = json.loads(run("cert", "create", "n1", "--output", "json").out)
    assert told == {
        "tls.cert_file": str(CERTS.absolute() / "n1.pem"),
        "tls.key_file": str(CERTS.absolute() / "n1.key"),
        "tls.ca_file": str(authority.absolute()),
    }
    assert list(json.loads(run("cert", "create", "--client", "c", "--output", "json").out)) == [
        "QUORATE_TLS_CERT",
        "QUORATE_TLS_KEY",
        "QUORATE_TLS_CA",
    ]


def test_nobody_else_may_read_a_key(run: Run, authority: Path) -> None:
    run("cert", "create", "n1")
    # It was copied without care; the next one is for its owner alone again.
    (CERTS / "n1.key").chmod(0o644)
    before = (CERTS / "n1.key").read_bytes()
    run("cert", "create", "n1")
    assert (CERTS / "n1.key").read_bytes() != before
    assert {path.name: path.stat().st_mode & 0o077 for path in CERTS.glob("*.key")} == {
        "ca.key": 0,
        "n1.key": 0,
    }
    assert {path.name for path in CERTS.iterdir()} == {"ca.key", "ca.pem", "n1.key", "n1.pem"}


@pytest.mark.parametrize("left", ["ca.pem", "ca.key"])
def test_an_authority_is_never_replaced(run: Run, authority: Path, left: str) -> None:
    before = (CERTS / left).read_bytes()
    for name in {"ca.pem", "ca.key"} - {left}:
        (CERTS / name).unlink()
    ran = run("cert", "init")
    assert (ran.code, ran.err) == (
        1,
        f"error: {CERTS} already has an authority; use it, or name another directory with --dir\n",
    )
    assert (CERTS / left).read_bytes() == before


def test_an_authority_that_is_not_there_is_to_be_made(run: Run) -> None:
    ran = run("cert", "create", "n1")
    assert (ran.code, ran.err) == (
        1,
        f"error: {CERTS} has no authority; make one with `quorate cert init`\n",
    )


@pytest.mark.parametrize("name", ["ca.pem", "ca.key"])
def test_an_authority_that_is_damaged_is_named(run: Run, authority: Path, name: str) -> None:
    (CERTS / name).write_text("nothing")
    ran = run("cert", "create", "--client", "c")
    assert ran.code == 1
    assert ran.err.startswith(f"error: the authority in {CERTS} cannot be used: ")


@pytest.mark.parametrize("name", ["", "ca", "../n1", "a/b"])
def test_a_name_that_is_no_file_s_is_refused(run: Run, authority: Path, name: str) -> None:
    ran = run("cert", "create", "--client", name)
    assert (ran.code, ran.err) == (
        1,
        f"error: {name!r} is not a valid certificate name; choose another name\n",
    )
    assert {path.name for path in CERTS.iterdir()} == {"ca.key", "ca.pem"}


def test_a_host_that_cannot_stand_in_a_certificate_is_refused(run: Run, authority: Path) -> None:
    ran = run("cert", "create", "n1", "--host", "käse.example")
    assert ran.code == 1
    assert ran.err.startswith("error: cannot make a certificate for n1, käse.example: ")
    assert ran.err.endswith("; write the names in ASCII, as in the DNS\n")


def test_without_the_library_it_says_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "quorate.cli.authority", raising=False)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    ran = run("cert", "init")
    assert ran.code == 1
    assert "cryptography, which is not installed; pip install 'quorate[server]'" in ran.err
