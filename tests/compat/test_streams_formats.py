"""Clients keep watch tokens, operators backups and archives: they outlive their versions."""

import json
from pathlib import Path

from quorate.consensus.journal import Position
from quorate.consensus.messages import Entry, EntryKind
from quorate.plugin.shard_id import ShardId
from quorate.shards.snapshots.backup import Backup
from quorate.shards.watching.tokens import WatchToken
from quorate.storage.archive import decode
from quorate.storage.data.checkpoint import Manifest, SnapshotFile
from quorate.storage.data.record import AppliedRecord

FOLDER = Path(__file__).parent / "golden"

TOKEN = WatchToken(
    bytes(range(32)),
    2,
    {ShardId("kv", 0): (1 << 60) + 5, ShardId("kv", 11): 0, ShardId("metadata", 0): 7 << 20},
)
BACKUP = Backup(
    b"\xab\xcd",
    {
        ShardId("metadata", 0): Manifest(
            AppliedRecord(Position(1 << 40, 9), 12, b"\x00members\xff", 1 << 41, 1 << 31, 3),
            (SnapshotFile("000007.sst", 1 << 33, 4_000_000_000), SnapshotFile("CURRENT", 16, 0)),
        ),
        ShardId("kv", 10): Manifest(AppliedRecord(Position(1, 1), 1, b"", 0, 0, 0), ()),
    },
)


def test_tokens() -> None:
    stored = bytes.fromhex(json.loads((FOLDER / "watch_token.json").read_text())["token"])

    assert WatchToken.decode(stored) == TOKEN
    assert TOKEN.encode() == stored


def test_backups() -> None:
    stored = (FOLDER / "checked_backup.json").read_bytes()

    assert Backup.decode(stored) == BACKUP
    assert BACKUP.encode() == stored
    # The first ones had no checksum.
    assert Backup.decode((FOLDER / "backup.json").read_bytes()) == BACKUP


def test_entries_of_archives() -> None:
    assert list(decode(FOLDER / "archive.entries")) == [
        Entry(1 << 34, 7, EntryKind.NOOP, b""),
        Entry((1 << 34) + 1, 7, EntryKind.COMMAND, b"commands" * 100),
        Entry((1 << 34) + 2, 8, EntryKind.CONFIG, b"members"),
    ]
