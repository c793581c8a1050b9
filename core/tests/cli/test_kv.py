from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from quorate.v1.kv_pb2 import DeletePair, GetPairRequest, PutPair, TouchPair

if TYPE_CHECKING:
    from core.tests.cli.conftest import FakeNode, Run


def test_what_was_put_is_got_byte_for_byte(run: Run, node: FakeNode) -> None:
    assert run("kv", "put", "grüße", "1\n").out == "created at revision 7\n"
    assert run("kv", "put", "grüße", "zwei").out == "written at revision 7\n"
    assert run("kv", "get", "grüße").out == "zwei"
    assert list(node.pairs) == ["grüße".encode()]


@pytest.mark.ci
def test_a_terminal_gets_a_line_end_after_the_value(run: Run, node: FakeNode) -> None:
    run("kv", "put", "a", "1")
    shown, terminal = pty.openpty()

    code = subprocess.call([sys.executable, "-m", "quorate.cli", "kv", "get", "a"], stdout=terminal)

    assert (code, os.read(shown, 100)) == (0, b"1\r\n")
    os.close(shown)
    os.close(terminal)


def test_bytes_are_given_and_shown_in_hex(run: Run, node: FakeNode) -> None:
    run("kv", "put", "--hex", "00ff", "fe01")

    assert node.pairs[b"\x00\xff"].value == b"\xfe\x01"
    assert run("kv", "get", "--hex", "00ff").out == "fe01\n"
    assert json.loads(run("kv", "list", "--hex", "--output", "json").out)[0]["key"] == "00ff"


def test_what_is_not_hex_is_a_usage_error(run: Run, node: FakeNode) -> None:
    ran = run("kv", "get", "--hex", "xy")

    assert (ran.code, node.asked) == (2, [])
    assert ran.err.startswith("error: KEY 'xy' is not written in hex digits; write two of")


def test_a_value_comes_from_a_file_as_it_is(run: Run, node: FakeNode, tmp_path: Path) -> None:
    file = tmp_path / "value"
    file.write_bytes(b"\xff\x00\n")

    assert run("kv", "put", "a", "--file", str(file)).code == 0
    assert node.pairs[b"a"].value == b"\xff\x00\n"


@pytest.mark.parametrize("more", [[], ["1", "--file", __file__]])
def test_there_is_one_value(run: Run, node: FakeNode, more: list[str]) -> None:
    ran = run("kv", "put", "a", *more)

    assert (ran.code, node.asked) == (2, [])
    assert ran.err == "error: Give either VALUE or --file; see `quorate kv put --help`\n"


def test_a_missing_pair_is_a_failure_with_a_sentence(run: Run, node: FakeNode) -> None:
    ran = run("kv", "get", "a")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: there is no pair with the key a; put one with")


def test_a_pair_in_json_has_all_that_is_known(run: Run, node: FakeNode) -> None:
    run("kv", "put", "a", "1", "--ttl", "1.5")

    assert json.loads(run("kv", "get", "a", "--output", "json").out) == {
        "key": "a",
        "value": "1",
        "revision": 7,
        "created_revision": 0,
        "ttl_ms": 1500,
    }


def test_existence_is_told_by_the_exit_code_too(run: Run, node: FakeNode) -> None:
    run("kv", "put", "a", "1")

    assert [
        (ran.code, ran.out) for ran in (run("kv", "exists", "a"), run("kv", "exists", "b"))
    ] == [
        (0, "yes\n"),
        (1, "no\n"),
    ]


def test_deleting_says_whether_there_was_one(run: Run, node: FakeNode) -> None:
    run("kv", "put", "a", "1")

    assert [run("kv", "delete", "a").out for _ in range(2)] == ["deleted\n", "no such pair\n"]


def test_options_reach_the_node(run: Run, node: FakeNode) -> None:
    run("kv", "cas", "a", "0", "1")
    run("kv", "touch", "a", "--revision", "7")
    run("kv", "get", "a", "--stale")
    run("kv", "delete", "a", "--revision", "7")

    assert node.asked == [
        PutPair(key=b"a", value=b"1", expected_revision=0),
        TouchPair(key=b"a", expected_revision=7),
        GetPairRequest(key=b"a", stale=True),
        DeletePair(key=b"a", expected_revision=7),
    ]


def test_a_list_goes_on_page_by_page_to_its_limit(run: Run, node: FakeNode) -> None:
    for key in ("a", "b", "c", "d", "e", "x"):
        run("kv", "put", key, "1")

    ran = run("kv", "list", "--limit", "5", "--output", "json")

    assert [row["key"] for row in json.loads(ran.out)] == ["a", "b", "c", "d", "e"]
    assert ran.err == "warning: there are more than 5; continue with --after e\n"
    rest = run("kv", "list", "--after", "e", "--output", "json")
    assert [row["key"] for row in json.loads(rest.out)] == ["x"]
    assert rest.err == ""


def test_a_list_of_keys_has_no_values(run: Run, node: FakeNode) -> None:
    run("kv", "put", "a", "1")

    [row] = json.loads(run("kv", "list", "--keys-only", "--output", "json").out)
    assert "value" not in row


@pytest.mark.parametrize(
    ("read", "answer"), [("get a", "1"), ("exists a", "yes\n"), ("list --output json", "")]
)
def test_a_read_is_tried_again_when_its_connection_breaks(
    run: Run, node: FakeNode, read: str, answer: str
) -> None:
    run("kv", "put", "a", "1")
    node.breaks = 1

    ran = run("kv", *read.split())

    assert (ran.code, ran.err, node.breaks) == (0, "", 0)
    assert answer in ran.out


def test_a_list_shows_on_one_line_what_would_steer_a_terminal(run: Run, node: FakeNode) -> None:
    run("kv", "put", "a", "1\n\x1b[31m2")

    assert "1\\n\\x1b[31m2" in run("kv", "list").out
    assert json.loads(run("kv", "list", "--output", "json").out)[0]["value"] == "1\n\x1b[31m2"


def test_a_list_without_pairs_says_so_beside_the_answer(run: Run, node: FakeNode) -> None:
    ran = run("kv", "list")

    assert (ran.code, ran.out, ran.err) == (0, "", "no pairs found\n")
    assert run("kv", "list", "-o", "json").out == "[]\n"


def test_a_read_imports_no_plugin_and_nothing_of_tables(run: Run, node: FakeNode) -> None:
    run("kv", "put", "a", "1")
    heavy = {"pluggy", "pydantic", "quorate.plugin.declarations", "quorate.plugin.resource", "rich"}
    code = (
        "import sys; from quorate.cli.main import main; assert main(['kv', 'get', 'a']) == 0; "
        f"print(); print(sorted({heavy!r} & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.splitlines() == ["1", "[]"]
