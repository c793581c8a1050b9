from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from quorate.consensus.journal import Position
from quorate.storage.data.home import DiskHome
from quorate.storage.data.record import EMPTY
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch, DamagedError

ROWS = 2_000


@pytest.fixture
def damaged(tmp_path: Path) -> ShardData:
    """Data with a bit flipped in the middle of the files of its largest family."""
    data = ShardData.open(DiskHome(tmp_path), ["rows"])
    batch = Batch()
    for number in range(ROWS):
        batch.put("rows", b"%06d" % number, bytes(200))
    data.commit(batch, replace(EMPTY, position=Position(1, 1)))
    data.flush()
    data.close()
    largest = max((tmp_path / "data.1").glob("*.sst"), key=lambda path: path.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[len(content) // 2] ^= 1
    largest.write_bytes(content)
    return ShardData.open(DiskHome(tmp_path), ["rows"])


def test_reads_lists_and_digests_fail_loudly_and_name_the_family(damaged: ShardData) -> None:
    said = r"Cannot read rows in the database .*quorate member replace"
    found: list[tuple[bytes, bytes]] = []
    with pytest.raises(DamagedError, match=said):
        found.extend(damaged.iterate("rows", b"", None))
    seen = len(found)
    assert 0 < seen < ROWS
    with pytest.raises(DamagedError, match=said):
        list(damaged.iterate("rows", b"", None, reverse=True))
    digest = damaged.digest()
    with pytest.raises(DamagedError, match=said):
        any(digest.step() for _ in range(ROWS))
    with pytest.raises(ValueError, match="incomplete"):
        digest.hexdigest()
    with pytest.raises(DamagedError, match=said):
        damaged.get("rows", b"%06d" % seen)

    assert damaged.get("rows", b"%06d" % 0) == bytes(200)
    damaged.close()


def test_a_copy_of_damaged_data_is_damaged_too(damaged: ShardData) -> None:
    """What is copied is copied as it is: whoever reads it finds out."""
    checkpoint = damaged.checkpoint()
    incoming = damaged.incoming(checkpoint.manifest())
    for name, size, _ in checkpoint.manifest().files:
        if size:
            incoming.write(name, 0, checkpoint.read(name, 0, size))
    incoming.finish()
    engine = incoming.take()

    with pytest.raises(DamagedError):
        list(engine.iterate("rows", b"", None))

    engine.close()
    damaged.close()
