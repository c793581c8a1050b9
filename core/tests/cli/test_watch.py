from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from google.protobuf.wrappers_pb2 import StringValue
from quorate.plugin import keys
from quorate.v1.kv_pb2 import Pair
from quorate.v1.watch_pb2 import WatchedFamily, WatchEvent, WatchRequest, WatchResponse

if TYPE_CHECKING:
    from core.tests.cli.conftest import FakeNode, Install, Run


def pair(value: str, created: int) -> bytes:
    return Pair(value=value.encode(), created_revision=created).SerializeToString()


@pytest.mark.parametrize(
    "words", [("watch", "kv", "--prefix", "a"), ("kv", "watch", "a")], ids=["watch", "kv"]
)
def test_each_event_is_a_line(run: Run, node: FakeNode, words: tuple[str, ...]) -> None:
    node.watched = [
        WatchResponse(
            events=[
                WatchEvent(
                    kind=WatchEvent.ROW, name="kv.pairs", key=b"a", value=pair("1", 4), revision=4
                )
            ]
        ),
        WatchResponse(
            events=[
                WatchEvent(
                    kind=WatchEvent.PUT, name="kv.pairs", key=b"a", value=pair("2", 4), revision=5
                ),
                WatchEvent(kind=WatchEvent.DELETED, name="kv.pairs", key=b"\xff", revision=5),
            ],
            token=b"t1",
        ),
    ]

    ran = run(*words, "--changes-only")

    assert ran.out.splitlines() == ["row a = 1", "updated a = 2", "deleted /w=="]
    assert "the test is over" in ran.err
    assert node.asked[0] == WatchRequest(
        families=[WatchedFamily(name="kv.pairs", prefix=b"a")], changes_only=True
    )


def test_an_event_in_json_has_a_token_that_goes_on_behind_it(run: Run, node: FakeNode) -> None:
    event = WatchEvent(
        kind=WatchEvent.PUT, name="kv.pairs", key=b"a", value=pair("1", 4), revision=4, shard=2
    )
    node.watched = [WatchResponse(events=[event], token=b"\xfb\xff")]

    told = json.loads(run("watch", "kv", "--output", "json").out.splitlines()[0])

    assert told == {
        "kind": "created",
        "family": "kv.pairs",
        "key": "a",
        "revision": 4,
        "shard": 2,
        "token": "-_8=",
        "value": "1",
    }
    run("watch", "kv", "--token", told["token"])
    request = node.asked[-1]
    assert isinstance(request, WatchRequest)
    assert request.token == b"\xfb\xff"


def test_rows_and_keys_are_shown_as_plugins_declare_them(
    run: Run, node: FakeNode, install: Install
) -> None:
    install("notes")
    row = StringValue(value="milk").SerializeToString()
    node.watched = [
        WatchResponse(
            events=[
                WatchEvent(
                    kind=WatchEvent.UPDATED,
                    name="notes.rows",
                    key=keys.pack("shelf", 3, b"\xfe"),
                    value=row,
                    previous=StringValue(value="tea").SerializeToString(),
                )
            ],
            token=b"t",
        )
    ]

    assert run("watch", "notes.rows").out == 'updated ["shelf", 3, "fe"] = milk (was tea)\n'


def test_a_row_that_no_plugin_knows_is_text_or_base64(run: Run, node: FakeNode) -> None:
    events = [
        WatchEvent(kind=WatchEvent.PUT, name="other.rows", key=b"a", value=value)
        for value in (b"two\nlines", b"\xff")
    ]
    node.watched = [WatchResponse(events=events, token=b"t")]
    assert run("watch", "other.rows").out.splitlines() == ["put a = two\\nlines", "put a = /w=="]

    node.watched = [WatchResponse(events=events, token=b"t")]
    told = run("watch", "other.rows", "--output", "json").out.splitlines()
    assert [json.loads(line)["value"] for line in told] == ["two\nlines", {"base64": "/w=="}]


def test_pairs_are_shown_alike_under_both_names(run: Run, node: FakeNode) -> None:
    event = WatchEvent(kind=WatchEvent.PUT, name="kv.pairs", key=b"a", value=pair("1", 0))
    shown = []
    for family in ("kv", "kv.pairs"):
        node.watched = [WatchResponse(events=[event], token=b"t")]
        shown.append(run("watch", family).out)

    assert shown == ["created a = 1\n"] * 2


def test_a_resync_is_told(run: Run, node: FakeNode) -> None:
    node.watched = [WatchResponse(resync={"reason": "history is gone"})]

    assert run("watch", "kv").out == "resync: history is gone; all rows follow\n"


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--token", "!", "error: --token '!' is not a token; copy the token of a line that"),
        ("--prefix", "xy", "error: --prefix 'xy' is not written in hex digits; write"),
    ],
)
def test_what_cannot_be_read_is_a_usage_error(
    run: Run, node: FakeNode, option: str, value: str, says: str
) -> None:
    ran = run("watch", "kv", "--hex", option, value)

    assert (ran.code, node.asked) == (2, [])
    assert ran.err.startswith(says)


def test_a_watch_goes_on_after_the_token_in_its_file(
    run: Run, node: FakeNode, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    rows = [WatchEvent(kind=WatchEvent.ROW, name="kv.pairs", key=b"a", value=pair("1", 4))]
    events = [
        WatchEvent(kind=WatchEvent.PUT, name="kv.pairs", key=key, value=pair("1", 4))
        for key in (b"b", b"c")
    ]
    given = [
        WatchResponse(events=rows),
        WatchResponse(token=b"listed", listed=True),
        WatchResponse(events=events, token=b"changed", listed=True),
        WatchResponse(token=b"moved", listed=True),
    ]
    kept = []
    for count in range(1, 5):
        file.unlink(missing_ok=True)
        node.watched = given[:count]
        ran = run("watch", "kv", "--output", "ndjson", "--token-file", str(file))
        kept.append(base64.b64decode(file.read_bytes()) if file.exists() else None)

    assert kept == [None, b"listed", b"changed", b"moved"]
    assert [json.loads(line)["key"] for line in ran.out.splitlines()] == ["a", "b", "c"]
    run("watch", "kv", "--token-file", str(file))
    request = node.asked[-1]
    assert isinstance(request, WatchRequest)
    assert request.token == b"moved"


@pytest.mark.parametrize(
    ("content", "options", "says"),
    [
        ("no token!", (), "is not a token; copy the token"),
        ("", ("--token", "YQ=="), "--token and --token-file are both given; omit one"),
    ],
)
def test_a_token_file_that_cannot_be_right(
    run: Run, node: FakeNode, tmp_path: Path, content: str, options: tuple[str, ...], says: str
) -> None:
    file = tmp_path / "token"
    file.write_text(content)

    ran = run("watch", "kv", "--token-file", str(file), *options)

    assert (ran.code, node.asked) == (2, [])
    assert says in ran.err


def test_a_token_file_that_cannot_be_written(run: Run, node: FakeNode, tmp_path: Path) -> None:
    node.watched = [WatchResponse(token=b"listed", listed=True)]

    ran = run("watch", "kv", "--token-file", str(tmp_path / "none" / "token"))

    assert ran.code == 2
    assert "cannot be written: No such file or directory; name a file" in ran.err
