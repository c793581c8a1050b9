from __future__ import annotations

import io
import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from quorate.observe.logs import Form, Level, configure

Log = Callable[..., io.StringIO]


@pytest.fixture
def log() -> Iterator[Log]:
    """Configure logging into a text, and put back what was there."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()

    def configured(form: Form, level: Level = "info", *secrets: str) -> io.StringIO:
        out = io.StringIO()
        configure(form, level, "n1", out, secrets=secrets)
        return out

    yield configured
    logging.captureWarnings(False)
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger("grpc").setLevel(logging.NOTSET)


def failure() -> Any:
    try:
        raise ValueError("a bug\nin two lines")
    except ValueError:
        return sys.exc_info()


def test_a_line_of_text_has_the_fields_behind_the_message(log: Log) -> None:
    out = log("text")
    logging.getLogger("quorate.test").warning(
        "it is %s", "so", extra={"shard": "kv/0", "index": 7, "why": "no room"}
    )

    time, _, rest = out.getvalue().partition(" ")
    assert datetime.fromisoformat(time).tzinfo == UTC
    assert rest == 'WARNING quorate.test: it is so node=n1 shard=kv/0 index=7 why="no room"\n'


def test_a_line_of_json_has_them_beside_it(log: Log) -> None:
    out = log("json")
    logging.getLogger("quorate.test").warning(
        "it is %s", "so", extra={"shard": "kv/0", "index": 7, "kept": {1}}
    )

    told = json.loads(out.getvalue())
    assert datetime.fromisoformat(told.pop("time")).tzinfo == UTC
    assert told == {
        "level": "warning",
        "logger": "quorate.test",
        "node": "n1",
        "message": "it is so",
        "shard": "kv/0",
        "index": 7,
        "kept": "{1}",
    }


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_event_is_one_line_whatever_it_holds(log: Log, form: Form) -> None:
    out = log(form)
    logging.getLogger("quorate.test").error(
        "two\nlines\u2028or three", extra={"key": "a\r\nINFO b"}, exc_info=failure()
    )

    [line] = out.getvalue().splitlines()
    assert "ValueError: a bug\\nin two lines" in line
    assert "two\\nlines\\u2028or three" in line
    assert "a\\r\\nINFO b" in line


def test_what_weighs_less_than_the_level_is_left_out(log: Log) -> None:
    out = log("text", "warning")
    logging.getLogger("quorate.test").info("a trifle")
    logging.getLogger("quorate.test").warning("a word")

    assert "a trifle" not in out.getvalue()
    assert "a word" in out.getvalue()


def test_warnings_of_libraries_come_as_lines_too(log: Log) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        out = log("json")
        warnings.warn("it is old", stacklevel=1)

    assert "it is old" in json.loads(out.getvalue())["message"]


def test_what_grpc_warns_of_is_left_out_and_its_errors_are_not(log: Log) -> None:
    out = log("text", "debug")

    logging.getLogger("grpc._cython.cygrpc").warning("aborting a method due to server stop")
    logging.getLogger("grpc._cython.cygrpc").error("broken")

    [line] = out.getvalue().splitlines()
    assert " ERROR grpc._cython.cygrpc: broken " in line


@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_are_left_out_wherever_they_are(log: Log, form: Form) -> None:
    out = log(form, "info", 'se"same', "same", "open sesame")
    try:
        raise ValueError('bad token se"same')
    except ValueError:
        logging.getLogger("quorate.test").exception(
            "not %s", "open sesame", extra={"token": 'a se"same'}
        )

    assert "same" not in out.getvalue()
    assert out.getvalue().count("[secret]") >= 3
