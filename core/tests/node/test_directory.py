from __future__ import annotations

from pathlib import Path

import pytest
from quorate.config import Settings, load
from quorate.node.directory import (
    NodeDirectory,
    OtherClusterError,
    UnfinishedRestoreError,
    directory_of,
    look,
    restorable,
    restore,
    unfinished,
)
from quorate.plugin.shard_id import ShardId
from quorate.shards.snapshots.backup import Backup
from quorate.shards.snapshots.parts import MANIFEST, BackupError
from quorate.storage.engine.options import Budget

BUDGET = Budget(1 << 20, 1 << 20)


def directory(path: Path, token: str = "t") -> NodeDirectory:
    return NodeDirectory(path / "node", "n1", token, BUDGET)


def test_a_node_is_the_same_replica_in_each_of_its_lives(tmp_path: Path) -> None:
    first = directory(tmp_path)

    assert first.me.node == "n1"
    assert directory(tmp_path).me == first.me
    assert directory(tmp_path / "other").me.replica != first.me.replica


def test_a_directory_belongs_to_the_cluster_that_it_joined(tmp_path: Path) -> None:
    assert directory(tmp_path).first_entry() == b""
    joined = directory(tmp_path).join(b"entry")

    assert directory(tmp_path).first_entry() == b"entry"
    assert directory(tmp_path / "other").join(b"entry") == joined
    assert directory(tmp_path / "third", "u").join(b"entry") != joined


def test_a_directory_of_another_token_is_refused(tmp_path: Path) -> None:
    directory(tmp_path).join(b"entry")

    with pytest.raises(OtherClusterError, match=r"correct \[cluster\] token"):
        directory(tmp_path, "u").first_entry()


def test_a_directory_that_is_being_restored_is_refused(tmp_path: Path) -> None:
    settings = of_node(tmp_path)
    unfinished(tmp_path).touch()

    for opens in (directory_of, look):
        with pytest.raises(UnfinishedRestoreError, match="empty the directory"):
            opens(settings)
    with pytest.raises(BackupError, match="empty the directory"):
        restore(tmp_path / "backup", settings)


def test_a_restore_that_cannot_begin_leaves_the_directory_as_it_was(tmp_path: Path) -> None:
    for present in (False, True):
        if present:
            (tmp_path / "node").mkdir()
        with pytest.raises(BackupError, match=r"holds no backup\.json"):
            restore(tmp_path / "backup", of_node(tmp_path / "node"))
        assert (tmp_path / "node").exists() is present
    assert not list((tmp_path / "node").iterdir())


def test_what_a_restore_would_do_is_told_without_a_trace(tmp_path: Path) -> None:
    source, there = tmp_path / "backup", tmp_path / "node"
    source.mkdir()
    (source / MANIFEST).write_bytes(Backup(cluster=b"c", shards={}).encode())

    assert restorable(source, of_node(there)).cluster == b"c"
    assert not there.exists()
    there.mkdir()
    (there / "something").touch()
    with pytest.raises(BackupError, match="is not empty"):
        restorable(source, of_node(there))
    unfinished(there).touch()
    with pytest.raises(BackupError, match="empty the directory"):
        restorable(source, of_node(there))


def of_node(path: Path) -> Settings:
    return load(None, {}, {"QUORATE__NODE__DIR": str(path)})


def test_each_shard_has_a_home_of_its_own(tmp_path: Path) -> None:
    node = directory(tmp_path)
    homes = {str(node.home(ShardId("kv", number))) for number in range(3)}

    assert homes == {str(node.path / "shards" / "kv" / str(number)) for number in range(3)}


def test_a_directory_that_others_can_read_is_closed(tmp_path: Path) -> None:
    (tmp_path / "node").mkdir(mode=0o755)

    directory(tmp_path)

    assert (tmp_path / "node").stat().st_mode & 0o777 == 0o700
