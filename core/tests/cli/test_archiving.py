"""How an archive is kept while nodes fail."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from quorate.cli import archiving
from quorate.client.errors import RejectedError
from quorate.v1 import admin_pb2 as pb


class Refusing:
    """A client of a cluster whose nodes do not know `Entries`."""

    async def topology(self) -> pb.TopologyResponse:
        place = pb.ShardPlace(group="metadata", number=0, nodes=["n1", "n2", "n3"])
        return pb.TopologyResponse(cluster_id=b"c", shards=[place])

    def at(self, _: str) -> Refusing:
        return self

    async def stream(self, *asked: object) -> AsyncIterator[pb.EntriesPart]:
        if asked:
            raise RejectedError("UNIMPLEMENTED")
        yield pb.EntriesPart()


async def test_backups_that_do_not_help_become_rare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    backups: list[float] = []
    yielding, client = asyncio.sleep, Refusing()

    async def sleep(delay_s: float) -> None:
        nonlocal now
        now += delay_s
        if now > 3_000:
            raise TimeoutError
        await yielding(0)

    async def at_once(work: Callable[..., object], *given: object) -> object:
        return work(*given)

    async def copy(_: object, path: Path) -> tuple[int, int]:
        path.mkdir(parents=True)
        (path / "backup.json").write_text(json.dumps({"shards": {"metadata/0": {"index": 9}}}))
        backups.append(now)
        return 1, 1

    clock: Any = SimpleNamespace(monotonic=lambda: now, time=time.time)
    monkeypatch.setattr(archiving, "time", clock)
    monkeypatch.setattr(archiving, "copy", copy)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(asyncio, "to_thread", at_once)
    said: list[str] = []
    with pytest.raises(ExceptionGroup):
        await archiving.follow(
            client,  # type: ignore[arg-type]
            tmp_path / "archive",
            every_s=10,
            backup_every_s=86_400,
            keep_s=None,
            say=said.append,
        )
    assert "a new backup is needed: metadata/0: UNIMPLEMENTED" in said
    assert 8 < len(backups) < 14
    pauses = [after - before for before, after in pairwise(backups)]
    assert pauses[3:] == sorted(pauses[3:])
    assert pauses[-1] > 500
