"""How a new token reaches its user: alone, whole, and where nobody else reads it."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result
from google.protobuf.message import Message
from quorate.builtin.auth.cli import command
from quorate.plugin import Rejected
from quorate.v1 import auth_pb2 as pb

TOKEN = "q" * 200


class FakeConsole:
    """Stands for the command line; its cluster gives one token, or refuses."""

    def __init__(self, *, as_json: bool = False, refuses: bool = False) -> None:
        self.json = as_json
        self._refuses = refuses

    def client(self) -> SimpleNamespace:
        return SimpleNamespace(call=self._call)

    def _call(self, method: str, request: Message, reply: type[Message]) -> Message:
        if self._refuses:
            raise Rejected("NOT_FOUND", "there is no such user")
        return pb.NewToken(token=pb.Token(user="ada", id="1"), text=TOKEN)

    def print(self, rows: Iterable[Mapping[str, object]]) -> None:
        print(json.dumps(list(rows)))


def ran(console: FakeConsole, *arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, obj=console)


@pytest.mark.parametrize("words", [("enable", "ada"), ("token", "create", "ada")])
def test_a_token_is_printed_alone(words: tuple[str, ...]) -> None:
    done = ran(FakeConsole(), *words)

    assert done.stdout == f"{TOKEN}\n"
    assert "token 1 of ada" in done.stderr
    [told] = json.loads(ran(FakeConsole(as_json=True), *words).stdout)
    assert told == {"user": "ada", "id": "1", "token": TOKEN}


def test_a_token_is_written_to_a_new_file_that_its_owner_alone_reads(tmp_path: Path) -> None:
    file = tmp_path / "ada.token"

    done = ran(FakeConsole(), "enable", "ada", "--file", str(file))

    assert (done.exit_code, done.stdout) == (0, "")
    assert file.read_text() == f"{TOKEN}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    again = ran(FakeConsole(), "enable", "ada", "--file", str(file))
    assert again.exit_code == 2
    assert "name a file that does not exist yet" in again.stderr
    assert file.read_text() == f"{TOKEN}\n"


def test_no_file_is_left_where_no_token_was_made(tmp_path: Path) -> None:
    file = tmp_path / "ada.token"

    done = ran(FakeConsole(refuses=True), "token", "create", "ada", "--file", str(file))

    assert isinstance(done.exception, Rejected)
    assert not file.exists()
