"""Makes the rows of one partition as their shards would, and sends them as sorted files."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from quorate.client import AsyncClient
from quorate.loading import DuplicateKeyError, RowMaker, key_hashes, write_sorted_file
from quorate.plugin.catalog import assemble
from quorate.plugin.slots import bitmap_of, slots_of
from quorate.v1 import files_pb2 as pb

from quorate_spark.source.bad_rows import bad_rows_of
from quorate_spark.source.batching import Batch, Batching
from quorate_spark.source.columns import lacks_values, lists, normalized
from quorate_spark.source.connecting import async_client_of
from quorate_spark.source.errors import SourceError
from quorate_spark.source.options import WriteOptions
from quorate_spark.source.reporting import Reporting, Sent
from quorate_spark.source.scratch import scratch_folder
from quorate_spark.source.sending import source_errors
from quorate_spark.source.shards import ShardPlan, plan_of
from quorate_spark.source.tables import FoundTable, find
from quorate_spark.source.uploading import Uploads

#: Number and size of a shard's rows at which they are written to a file; in memory they take about
#: four times their size.
FILE_ROWS: Final = 400_000
FILE_BYTES: Final = 96 << 20


@dataclass(slots=True)
class ShardFiles:
    """The files that a partition has sent to a shard."""

    #: Serialized.
    files: list[bytes] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    slots: set[int] = field(default_factory=set)
    #: Eight bytes for each key.
    hashes: list[bytes] = field(default_factory=list)

    @property
    def bitmap(self) -> bytes:
        """The slots of its rows."""
        return bitmap_of(self.slots)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """The outcome of a partition."""

    sent: Sent
    shards: Mapping[int, ShardFiles]


async def send_files(
    options: WriteOptions,
    partition: int,
    opened: Mapping[int, bytes],
    rows: Iterator[pa.RecordBatch],
) -> Filed:
    """Send the files of a partition; raises `SourceError` when it cannot be loaded whole."""
    found = find(options.table)
    async with async_client_of(options) as client:
        with source_errors(options.load_id, partition), scratch_folder() as folder:
            topology = await client.topology()
            plan = plan_of(topology, found.group)
            nodes = {
                each.number: list(each.nodes)
                for each in topology.shards
                if each.group == found.group
            }
            filing = _Filing(options, partition, found, plan, nodes, client, folder)
            return await filing.run(opened, rows)


class _Filing:
    """One attempt at a partition."""

    def __init__(
        self,
        options: WriteOptions,
        partition: int,
        found: FoundTable,
        plan: ShardPlan,
        nodes: Mapping[int, list[str]],
        client: AsyncClient,
        folder: Path,
    ) -> None:
        self._options: Final = options
        self._partition: Final = partition
        self._found: Final = found
        assert found.table.files is not None
        self._load: Final = found.table.files
        self._plan: Final = plan
        self._nodes: Final = nodes
        self._client: Final = client
        self._folder: Final = folder
        self._batching: Final = Batching(
            found, plan, insert_only=options.conflict == "insert_only", rows=options.batch_rows
        )
        self._bad: Final = bad_rows_of(options, partition, self._batching.bad, by_files=True)
        self._catalog: Final = assemble([each for each in found.declared if not each.problems])
        self._makers: Final[dict[int, RowMaker]] = {}
        #: Rows and bytes that the maker of each shard holds.
        self._held: Final[dict[int, tuple[int, int]]] = {}
        self._shards: Final[dict[int, ShardFiles]] = {}
        self._uploads: Final[dict[int, Uploads]] = {}
        self._ingested: Final[set[int]] = set()
        self._sending: asyncio.Task[None] | None = None
        self._reporting: Final = Reporting(client, options.load_id, partition, self._bad)

    async def run(self, opened: Mapping[int, bytes], rows: Iterator[pa.RecordBatch]) -> Filed:
        async with self._reporting.recorded():
            await self._file(opened, rows)
        sent = self._reporting.sent
        return Filed(
            sent=sent, shards={shard: each for shard, each in self._shards.items() if each.files}
        )

    async def _file(self, opened: Mapping[int, bytes], rows: Iterator[pa.RecordBatch]) -> None:
        for shard, content in opened.items():
            self._begin(shard, pb.OpenFilesResponse.FromString(content))
        try:
            while (record_batch := await asyncio.to_thread(next, rows, None)) is not None:
                left = await self._make_columns(record_batch)
                for batch in self._batching.take(record_batch, left):
                    await self._make(batch)
                self._bad.check()
            for batch in self._batching.rest():
                await self._make(batch)
            for shard in self._makers:
                await self._write(shard)
            await self._sent()
            self._bad.check()
        finally:
            if self._sending is not None:
                self._sending.cancel()
                await asyncio.gather(self._sending, return_exceptions=True)
            self._bad.write()

    def _begin(self, shard: int, opened: pb.OpenFilesResponse) -> None:
        family = self._found.table.family
        self._makers[shard] = RowMaker(self._catalog, self._found.group, shard, family, opened)
        self._held[shard] = 0, 0
        self._shards[shard] = ShardFiles()
        place = pb.SendFileRequest(group=self._found.group, shard=shard, name=opened.set.name)
        self._uploads[shard] = Uploads(
            self._client, place, self._nodes[shard], self._options.timeout_s
        )
        if opened.set.state != pb.FileSet.OPEN:
            # A repeated attempt: its files are only compared with the existing ones.
            self._ingested.add(shard)

    async def _make_columns(self, record_batch: pa.RecordBatch) -> set[int] | None:
        """Make rows without items; return the shards of which they are to be made; None: all."""
        load, table = self._load.columns, self._found.table
        if load is None or not record_batch.num_rows:
            return None
        arrays = normalized(table, record_batch)
        if lacks_values(table, arrays):
            return None
        columns = lists(table, arrays)
        shard_keys = load.shard_keys(*columns)
        if shard_keys is None:
            return None
        slots = slots_of(shard_keys)
        left = set()
        for shard, mine in self._plan.by_shard(slots).items():
            of_shard = [[column[at] for at in mine] for column in columns]
            with self._distinct():
                counts = self._maker(shard).make_columns(
                    load, [shard_keys[at] for at in mine], of_shard
                )
            if counts is None:
                left.add(shard)
                continue
            size = record_batch.nbytes * len(mine) // record_batch.num_rows
            await self._made(shard, len(mine), size, counts, {slots[at] for at in mine})
        return left

    async def _make(self, batch: Batch) -> None:
        maker = self._maker(batch.shard)
        command = self._found.command(batch.items, batch.contents)
        with self._distinct():
            reply = maker.make(command)
        refused = {each.item for each in reply.refusals}
        for refusal in reply.refusals:
            reason = f"{refusal.code}: {refusal.message}"
            self._bad.found.append(batch.bad_row(refusal.item, "", reason))
        items: list[Any] = batch.items
        if refused:
            items = [each for at, each in enumerate(items) if at not in refused]
        counts = Counter(map(self._load.counted_by, items))
        await self._made(batch.shard, len(items), batch.size, counts, batch.slots)

    def _maker(self, shard: int) -> RowMaker:
        maker = self._makers.get(shard)
        if maker is None:
            raise SourceError(
                f"shard {shard} of {self._found.group} came after load "
                f"{self._options.load_id} had begun: begin another load"
            )
        return maker

    @contextmanager
    def _distinct(self) -> Iterator[None]:
        try:
            yield
        except DuplicateKeyError:
            raise duplicate(self._options.load_id, f"partition {self._partition} has") from None

    async def _made(
        self, shard: int, rows: int, size: int, counts: Mapping[str, int], slots: set[int]
    ) -> None:
        """Count the rows of a shard's maker, and write a file once there are enough."""
        of_shard = self._shards[shard]
        of_shard.counts.update(counts)
        of_shard.slots |= slots
        self._reporting.count(rows, size)
        held, held_bytes = self._held[shard]
        self._held[shard] = held, held_bytes = held + rows, held_bytes + size
        if held >= FILE_ROWS or held_bytes >= FILE_BYTES:
            await self._write(shard)

    async def _write(self, shard: int) -> None:
        """Write the rows of a shard's maker to files, and send them in the background."""
        made = self._makers[shard].take()
        self._held[shard] = 0, 0
        of_shard, files = self._shards[shard], []
        for family, rows in made.items():
            path = self._folder / f"{shard}-{len(of_shard.files)}"
            if family == self._found.table.family:
                of_shard.hashes.append(await asyncio.to_thread(key_hashes, rows))
            file = await asyncio.to_thread(write_sorted_file, path, family, rows)
            of_shard.files.append(file.SerializeToString())
            files.append((path, file))
        await self._sent()
        self._sending = asyncio.create_task(self._send(shard, files))

    async def _send(self, shard: int, files: list[tuple[Path, pb.SortedFile]]) -> None:
        for path, file in files:
            if shard not in self._ingested:
                await self._uploads[shard].send(path, file)
            path.unlink()

    async def _sent(self) -> None:
        if self._sending is not None:
            await self._sending
            self._sending = None


def duplicate(load_id: str, where: str) -> SourceError:
    """Return the error for a key that occurs twice."""
    return SourceError(
        f"load {load_id} is not loaded: {where} several rows of one key, of which files hold one:"
        ' drop the others, as with dropDuplicates, or set load.mode to "rpc", where the last one'
        " of a partition is loaded"
    )
