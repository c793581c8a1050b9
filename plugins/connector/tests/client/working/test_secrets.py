"""Which secrets a worker gives to connectors, and how it reads them."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from quorate_connector.api import SecretRef
from quorate_connector.client import AllowedSecrets, SecretError
from quorate_connector.client.working import secrets
from quorate_connector.client.working.secrets import LARGEST


def of(file: Path | str) -> SecretRef:
    return SecretRef.of(f"file:{file}")


@pytest.mark.parametrize(
    ("name", "variables", "allowed"),
    [
        ("QUORATE_SECRET_A", None, True),
        ("A", None, False),
        ("A", ("A",), True),
        ("AB", ("A",), False),
        ("AB", ("B", "A*"), True),
        ("BA", ("A*",), False),
        ("QUORATE_SECRET_A", ("A",), False),
        ("A", (), False),
    ],
)
async def test_variables_are_allowed_by_name_or_by_how_it_begins(
    name: str, variables: tuple[str, ...] | None, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "swordfish")
    secrets = AllowedSecrets() if variables is None else AllowedSecrets(variables=variables)

    if allowed:
        assert await secrets.resolve(SecretRef.of(f"env:{name}")) == "swordfish"
    else:
        with pytest.raises(SecretError, match=f"env:{name} is not allowed .*variables=.* {name}"):
            await secrets.resolve(SecretRef.of(f"env:{name}"))


async def test_a_secret_of_a_file_ends_where_its_line_does(tmp_path: Path) -> None:
    allowed = AllowedSecrets(directories=(tmp_path,))
    file = tmp_path / "password"
    file.write_text("sword fish\n")
    assert await allowed.resolve(of(file)) == "sword fish"
    file.write_bytes(b"\xff")
    for missing in (file, tmp_path / "none", tmp_path):
        with pytest.raises(SecretError, match="cannot be read on this worker"):
            await allowed.resolve(of(missing))
    file.write_text("\n")
    with pytest.raises(SecretError, match="or empty"):
        await allowed.resolve(of(file))


async def test_files_are_allowed_below_directories_alone(tmp_path: Path) -> None:
    inside, beside = tmp_path / "run", tmp_path / "run-other"
    for directory in (inside, beside):
        directory.mkdir()
        (directory / "key").write_text("swordfish")
    (inside / "out").symlink_to(beside / "key")
    (inside / "up").symlink_to(tmp_path)
    (inside / "in").symlink_to(inside / "key")
    (tmp_path / "alias").symlink_to(inside)
    allowed = AllowedSecrets(directories=(str(inside),))

    outside = ("../run-other/key", "out", "up/run-other/key", "up/none", "../none")
    for path in (f"{beside}/key", "/etc/hostname", *(f"{inside}/{each}" for each in outside)):
        with pytest.raises(SecretError, match=rf"file:{path} is not allowed .*directories="):
            await allowed.resolve(of(path))
    with pytest.raises(SecretError, match="is not allowed"):
        await AllowedSecrets().resolve(of(inside / "key"))

    for path in ("key", "in", "up/run/key"):
        assert await allowed.resolve(of(inside / path)) == "swordfish"
    by_alias = AllowedSecrets(directories=(tmp_path / "alias",))
    assert await by_alias.resolve(of(tmp_path / "alias" / "key")) == "swordfish"


async def test_a_file_that_is_no_secret_does_not_fill_the_memory(tmp_path: Path) -> None:
    allowed = AllowedSecrets(directories=(tmp_path,))
    file = tmp_path / "large"
    file.write_bytes(b"a" * LARGEST)
    assert len(await allowed.resolve(of(file))) == LARGEST
    with file.open("ab") as larger:
        larger.write(b"\n")
    with pytest.raises(SecretError, match=f"is too large; the file must have at most {LARGEST}"):
        await allowed.resolve(of(file))


async def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(SecretError, match="cannot be read"):
        await AllowedSecrets(directories=(tmp_path,)).resolve(of(tmp_path / "pipe"))


async def test_files_are_read_off_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("swordfish")
    threads = []
    read = secrets._read

    def noting(path: str) -> bytes:
        threads.append(threading.current_thread())
        return read(path)

    monkeypatch.setattr(secrets, "_read", noting)
    await AllowedSecrets(directories=(tmp_path,)).resolve(of(tmp_path / "key"))

    assert threads
    assert threading.current_thread() not in threads


@pytest.mark.parametrize("wrong", [{"variables": "A"}, {"directories": "/run/secrets"}])
def test_a_text_is_not_taken_for_its_letters(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="must be tuples"):
        AllowedSecrets(**wrong)


def test_a_directory_does_not_depend_on_where_the_worker_was_started() -> None:
    with pytest.raises(ValueError, match="'secrets' of AllowedSecrets must be an absolute path"):
        AllowedSecrets(directories=("secrets",))
