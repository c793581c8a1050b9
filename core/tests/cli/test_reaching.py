from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import pytest
from quorate.cli.authority import make_authority, sign
from quorate.plugin.advanced import generic_handler
from quorate.v1 import admin_pb2, kv_pb2

if TYPE_CHECKING:
    from core.tests.cli.conftest import FakeNode, Install, Run

ASKING = '''
import click
from quorate.client import RejectedError

@click.command()
@click.pass_obj
def command(console):
    """Ask."""
    assert console.client() is console.client()
    console.print([{"nodes": len(console.client().topology().nodes)}])
'''
REFUSED = '''
import click
from quorate.client import RejectedError

@click.command()
@click.pass_obj
def command(console):
    """Ask."""
    console.client()
    raise RejectedError("NO_SHELF", "there is no shelf")
'''


def test_endpoints_are_taken_before_the_command_and_after_it(
    run: Run, node: FakeNode, nowhere: str
) -> None:
    there = ("--endpoints", node.address)

    assert run(*there, "status").code == run("status", *there).code == 0
    # The last one counts.
    assert run("--endpoints", nowhere, "kv", "list", *there).code == 0
    assert run(*there, "kv", "list", "--endpoints", nowhere).code == 5


@pytest.mark.parametrize("command", [["status"], ["kv", "get", "a"], ["member", "list"]])
def test_a_cluster_that_is_not_there_is_told_at_once(
    run: Run, nowhere: str, command: list[str]
) -> None:
    ran = run(*command, "--endpoints", nowhere)

    assert ran.code == 5
    assert ran.err == (
        f"error: no node answers at {nowhere}; start a cluster with `quorate dev`, or name the "
        "nodes of one that runs with --endpoints or QUORATE_ENDPOINTS\n"
    )


def test_one_endpoint_that_listens_is_enough(run: Run, node: FakeNode, nowhere: str) -> None:
    assert run("member", "list", "--endpoints", f"{nowhere},{node.address}").code == 0


def test_the_option_may_stand_before_the_command_of_a_group(run: Run, nowhere: str) -> None:
    assert nowhere in run("kv", "--endpoints", nowhere, "get", "a").err


def test_what_is_no_endpoint_is_a_usage_error(run: Run) -> None:
    ran = run("status", "--endpoints", "here", "--output", "json")

    assert ran.code == 2
    [error] = json.loads(ran.err)["errors"]
    assert error["field"] == "endpoints"


def test_a_command_of_a_plugin_asks_the_same_cluster(
    run: Run, install: Install, node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("notes", commands=ASKING)
    monkeypatch.delenv("QUORATE_ENDPOINTS")

    ran = run("notes", "--endpoints", node.address, "--output", "json")

    assert (ran.code, json.loads(ran.out)) == (0, [{"nodes": 1}])


def test_a_refusal_of_the_cluster_is_told_with_its_code(
    run: Run, install: Install, node: FakeNode
) -> None:
    install("notes", commands=REFUSED)

    ran = run("notes", "--output", "json")

    assert ran.code == 1
    assert json.loads(ran.err)["errors"] == [
        {"what": "NO_SHELF: there is no shelf", "fix": "", "code": "NO_SHELF"}
    ]


@pytest.fixture
def encrypted(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeNode]:
    """A node that serves who has a certificate of the authority in the working directory."""
    here = Path()
    make_authority(here)
    sign(here, "node1", ["127.0.0.1"])
    sign(here, "me", ["me"], serves=False)
    key, chain, ca = (Path(name).read_bytes() for name in ("node1.key", "node1.pem", "ca.pem"))
    with ThreadPoolExecutor(4) as pool:
        server = grpc.server(pool)
        services = (
            admin_pb2.DESCRIPTOR.services_by_name["AdminService"],
            kv_pb2.DESCRIPTOR.services_by_name["KvService"],
        )
        server.add_generic_rpc_handlers([generic_handler(each, node) for each in services])
        credentials = grpc.ssl_server_credentials([(key, chain)], ca, True)
        node.address = f"127.0.0.1:{server.add_secure_port('127.0.0.1:0', credentials)}"
        node.know("node1")
        server.start()
        monkeypatch.setenv("QUORATE_ENDPOINTS", node.address)
        yield node
        server.stop(0).wait()


FILES = ("--tls-ca", "ca.pem", "--tls-cert", "me.pem", "--tls-key", "me.key")


@pytest.mark.parametrize("command", [["kv", "put", "a", "1"], ["status"], ["member", "list"]])
def test_connections_are_encrypted_as_options_or_environment_say(
    run: Run, encrypted: FakeNode, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    assert run(*FILES, *command).code == 0
    for name, file in zip(("CA", "CERT", "KEY"), FILES[1::2], strict=True):
        monkeypatch.setenv(f"QUORATE_TLS_{name}", file)
    assert run(*command).code == 0
    # Options come before the environment, all of it.
    ran = run("--tls-ca", "none.pem", *command)
    assert (ran.code, ran.err) == (
        2,
        "error: tls: none.pem cannot be read: No such file or directory\n",
    )


def test_a_node_that_one_may_not_talk_to_says_why(
    run: Run, encrypted: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorate.cli.terminal._PATIENCE_S", 0.5)
    ran = run("--tls-ca", "ca.pem", "kv", "get", "a")
    assert ran.code == 5
    assert "it asks for a certificate, or refuses the one of this client" in ran.err


@pytest.mark.parametrize("given", [FILES[2:], FILES[2:4], FILES[4:]])
def test_a_certificate_needs_the_authority(
    run: Run, encrypted: FakeNode, given: tuple[str, ...]
) -> None:
    ran = run(*given, "kv", "get", "a")
    assert (ran.code, ran.err) == (
        2,
        "error: --tls-cert and --tls-key are given without --tls-ca; name the file of the "
        "authority that has signed the nodes' certificates\n",
    )


@pytest.mark.parametrize("given", [FILES[:4], (*FILES[:2], *FILES[4:])])
def test_a_certificate_and_its_key_are_given_together(
    run: Run, encrypted: FakeNode, given: tuple[str, ...]
) -> None:
    ran = run(*given, "kv", "get", "a")
    assert (ran.code, ran.err) == (
        2,
        "error: tls: cert and key go together: give both or neither\n",
    )
