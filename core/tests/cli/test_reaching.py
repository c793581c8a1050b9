from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

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
