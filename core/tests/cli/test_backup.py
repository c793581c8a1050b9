from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from quorate.v1.admin_pb2 import BackupPart

if TYPE_CHECKING:
    from core.tests.cli.conftest import FakeNode, Run


def part(path: str, offset: int, content: bytes, size: int) -> BackupPart:
    return BackupPart(path=path, offset=offset, content=content, size=size)


MANIFEST = part("backup.json", 0, b"{}", 2)
WHOLE = [
    part("metadata-0/a.sst", 0, b"one", 6),
    part("metadata-0/a.sst", 3, b"two", 6),
    part("metadata-0/EMPTY", 0, b"", 0),
    MANIFEST,
]


def files(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_a_backup_is_every_file_and_the_manifest(run: Run, node: FakeNode, tmp_path: Path) -> None:
    node.parts = WHOLE
    target = tmp_path / "new" / "backup"

    ran = run("backup", str(target))

    assert (ran.code, ran.out) == (0, f"3 files, 8 bytes in {target}\n")
    assert files(target) == {
        "metadata-0/a.sst": b"onetwo",
        "metadata-0/EMPTY": b"",
        "backup.json": b"{}",
    }


def test_the_node_to_copy_can_be_named(run: Run, node: FakeNode, tmp_path: Path) -> None:
    node.parts = WHOLE

    assert run("backup", str(tmp_path / "a"), "--node", "node1").code == 0
    ran = run("backup", str(tmp_path / "b"), "--node", "node9")
    assert (ran.code, "'node9' is not a node of the cluster" in ran.err) == (2, True)


def test_a_directory_that_is_not_empty_is_left_alone(
    run: Run, node: FakeNode, tmp_path: Path
) -> None:
    node.parts = WHOLE
    (tmp_path / "mine").write_text("mine")

    ran = run("backup", str(tmp_path))

    assert ran.code == 1
    assert ran.err == f"error: {tmp_path} is not empty; name an empty directory, or a new one\n"
    assert not (tmp_path / "backup.json").exists()


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(WHOLE[:-1], id="no manifest"),
        pytest.param([WHOLE[0], MANIFEST], id="half a file"),
        pytest.param([WHOLE[1], *WHOLE[2:]], id="no beginning"),
        pytest.param([*WHOLE[:-1], part("backup.json", 0, b"{", 2)], id="half a manifest"),
        pytest.param([], id="nothing"),
    ],
)
def test_what_is_left_out_is_told_and_is_no_backup(
    run: Run, node: FakeNode, tmp_path: Path, parts: list[BackupPart]
) -> None:
    node.parts = parts
    target = tmp_path / "backup"

    ran = run("backup", str(target))

    assert ran.code == 1
    assert ran.err.startswith("error: the backup is incomplete: ")
    assert ran.err.endswith(f"; empty {target}, then run it again\n")
    assert "backup.json" not in files(target)


@pytest.mark.parametrize("path", ["/etc/outside", "../outside", "a/../../outside", ""])
def test_a_node_has_no_say_over_other_places(
    run: Run, node: FakeNode, tmp_path: Path, path: str
) -> None:
    node.parts = [part(path, 0, b"x", 1), MANIFEST]

    ran = run("backup", str(tmp_path / "backup"))

    assert ran.code == 1
    assert "which is outside the directory" in ran.err or "incomplete" in ran.err
    assert files(tmp_path / "backup") == {}


def test_a_restore_of_what_is_no_backup_says_so(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "quorate.toml"
    config.write_text(f'[node]\ndir = "{tmp_path / "node"}"\n')

    ran = run("restore", str(tmp_path), "--config", str(config))

    assert (ran.code, "Traceback" in ran.err) == (1, False)
    assert ran.err.startswith(f"error: {tmp_path} holds no backup.json: it is no backup")
