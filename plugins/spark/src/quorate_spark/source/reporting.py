"""How far a partition has come, which its task records in the cluster every few seconds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.client import AsyncClient

from quorate_spark.source.bad_rows import BadRows
from quorate_spark.v1.commands_pb2 import ReportPartitionCommand

_REPORT_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """The outcome of a partition."""

    partition: int
    rows: int
    bad_rows: int
    batches: int


class Reporting:
    """Counts and records the rows that one attempt at a partition has loaded."""

    def __init__(self, client: AsyncClient, load_id: str, partition: int, bad: BadRows) -> None:
        self._client: Final = client
        self._load_id: Final = load_id
        self._partition: Final = partition
        self._bad: Final = bad
        self._rows = self._row_bytes = self._batches = 0

    @property
    def sent(self) -> Sent:
        """The counts until now."""
        return Sent(
            partition=self._partition,
            rows=self._rows,
            bad_rows=len(self._bad.found),
            batches=self._batches,
        )

    def count(self, rows: int, size: int) -> None:
        """Count a batch: the rows of it that were taken, and its bytes."""
        self._rows += rows
        self._row_bytes += size
        self._batches += 1

    @asynccontextmanager
    async def recorded(self) -> AsyncIterator[None]:
        """Record it now, every few seconds while the block runs, and that it has ended."""
        await self._record()
        recording = asyncio.create_task(self._keep_recording())
        try:
            yield
        finally:
            recording.cancel()
            await asyncio.gather(recording, return_exceptions=True)
        await self._record(finished=True)

    async def _keep_recording(self) -> None:
        while True:
            await asyncio.sleep(_REPORT_S)
            await self._record()

    async def _record(self, *, finished: bool = False) -> None:
        report = ReportPartitionCommand(
            load_id=self._load_id,
            partition=self._partition,
            rows=self._rows,
            bad_rows=len(self._bad.found),
            batches=self._batches,
            row_bytes=self._row_bytes,
            finished=finished,
        )
        await self._client.execute(report, Empty)
