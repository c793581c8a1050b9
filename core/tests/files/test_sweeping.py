"""When the files of a set leave a node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
from quorate.files import file_sets
from quorate.files.file_sets import FileSets
from quorate.plugin.shard_id import ShardId
from quorate.storage.engine.rocks import RocksEngine, write_file
from quorate.storage.staged_files import StagedFiles, digest_of
from quorate.v1 import files_pb2 as pb

SHARD: Final = ShardId("mqtt", 0)
NAME: Final = "spark/one"
#: The entry that put the files in place.
INDEX: Final = 7


class Replica:
    """Has put the files in place, as far as it knows; another node has a replica as well."""

    def __init__(self, state: pb.FileSet.State) -> None:
        self.id = SHARD
        self.row = pb.FileSet(name=NAME, state=state, ingested_at=INDEX)
        self.data = SimpleNamespace(durable_index=INDEX - 1, get=self._get)
        self.replica = SimpleNamespace(log=SimpleNamespace(first_index=1))
        members = [SimpleNamespace(peer=SimpleNamespace(node=node)) for node in ("n1", "n2")]
        self.configuration = SimpleNamespace(members=members)
        self.asked = 0

    def _get(self, *_: object) -> bytes:
        return self.row.SerializeToString()

    def make_durable(self) -> None:
        self.asked += 1
        self.data.durable_index = INDEX


class Peers:
    """The other node."""

    def __init__(self) -> None:
        self.durable = INDEX - 1
        self.asked = 0

    async def durable_index(self, *_: object) -> int:
        self.asked += 1
        return self.durable


class Swept:
    """Files of a set on a node that looks for what can go, again and again."""

    def __init__(self, folder: Path, replica: Replica) -> None:
        self.replica = replica
        self.peers = Peers()
        self.staged = StagedFiles(folder / "files", lambda path, names: RocksEngine(path, names))
        write_file(folder / "made", "rows", [(b"key", b"value")])
        content = (folder / "made").read_bytes()
        digest = digest_of(content).digest()
        file = pb.SortedFile(family="rows", digest=digest, size=len(content), rows=1)
        self.staged.write(str(SHARD), NAME, file, 0, content)
        unused: Any = None
        given: Any = replica
        peers: Any = self.peers
        loop = asyncio.get_running_loop()
        self.sets = FileSets(loop, "n1", unused, lambda _: given, self.staged, peers)

    @property
    def here(self) -> bool:
        return bool(list(self.staged.sets()))


@pytest.fixture
async def swept(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Swept]:
    monkeypatch.setattr(file_sets, "SWEEP_S", 0.001)
    found = Swept(tmp_path, Replica(request.param))
    found.sets.start()
    yield found
    await found.sets.stop()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.001)


@pytest.mark.parametrize("swept", [pb.FileSet.INGESTED], indirect=True)
async def test_files_in_place_go_once_all_nodes_have_that_durably(swept: Swept) -> None:
    # This one does not wait for the minute in which it would be durable by itself.
    await until(lambda: swept.peers.asked > 1)
    assert swept.replica.asked == 1
    assert swept.here
    swept.peers.durable = INDEX
    await until(lambda: not swept.here)


@pytest.mark.parametrize("swept", [pb.FileSet.DROPPED], indirect=True)
async def test_files_that_were_given_up_go_at_once(swept: Swept) -> None:
    await until(lambda: not swept.here)
    assert swept.replica.asked == 0
