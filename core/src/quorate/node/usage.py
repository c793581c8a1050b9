"""Counts the stored rows of tenants, while a quota limits them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from itertools import islice
from time import perf_counter
from typing import Final

from quorate.plugin import keys
from quorate.plugin.catalog import Catalog
from quorate.shards.router import Router
from quorate.shards.shard.shard import Shard
from quorate.shards.timing import Background, pause
from quorate.storage.rows import REVISION
from quorate.topology.replicas.node_shards import NodeShards
from quorate.v1 import quota_pb2 as pb

_log = logging.getLogger(__name__)

#: The pause between two counts.
EVERY_S: Final = 10.0
#: Maximum number of rows to count in one turn of the loop, and the share of time for such turns.
_ROWS: Final = 500
_SHARE: Final = 0.1
#: Maximum number of tenants in one report.
_REPORTED: Final = 1_000

Stored = dict[str, tuple[int, int]]


class TenantUsage(Background):
    """Counts the rows of led shards, slowly, and reports changed numbers.

    All nodes rely on the reports, so a tenant may exceed its quota by its writes between two
    reports.
    """

    def __init__(
        self,
        catalog: Catalog,
        shards: NodeShards,
        router: Router,
        loop: asyncio.AbstractEventLoop,
        *,
        every_s: float = EVERY_S,
    ) -> None:
        super().__init__(loop)
        #: By group: the families whose keys begin with a tenant.
        self._families: Final[dict[str, list[str]]] = {}
        for declared in catalog.declared.values():
            for each in declared.resources:
                if each.tenant:
                    self._families.setdefault(each.group, []).append(each.family)
        self._shards: Final = shards
        self._router: Final = router
        self._every_s: Final = every_s

    async def _run(self) -> None:
        quotas = self._router.quotas
        while True:
            await pause(self._loop, self._every_s)
            for shard in self._shards.all() if quotas.measures else ():
                families = self._families.get(shard.id.group, ())
                if not families or not shard.leads:
                    continue
                try:
                    found = await self._count(shard, families)
                    if shard.leads:
                        await self._report(shard, found)
                except Exception as error:  # noqa: BLE001 - the next count may do better
                    _log.warning("cannot count the rows of tenants in %s: %s", shard.id, error)

    async def _count(self, shard: Shard, families: list[str] | tuple[()]) -> Stored:
        found: Stored = {}
        for family in families:
            start: bytes | None = b""
            while start is not None:
                began = perf_counter()
                start = _count_page(shard, family, start, found)
                took_s = perf_counter() - began
                await pause(self._loop, took_s * (1 / _SHARE - 1))
        return found

    async def _report(self, shard: Shard, found: Stored) -> None:
        known, name = self._router.quotas.measured(str(shard.id)), str(shard.id)
        gone = dict.fromkeys(known.keys() - found.keys(), (0, 0))
        changed = iter(
            [
                pb.TenantUsage(tenant=tenant, shard=name, rows=rows, bytes=size)
                for tenant, (rows, size) in {**found, **gone}.items()
                if known.get(tenant) != (rows, size)
            ]
        )
        while usages := list(islice(changed, _REPORTED)):
            await self._router.propose(pb.ReportTenantUsages(usages=usages))


def _count_page(shard: Shard, family: str, start: bytes, found: Stored) -> bytes | None:
    """Add a page of rows to `found`, and return the start of the next page; None at the end."""
    data = shard.data
    if family not in data.families:
        return None
    tenant, prefix, rows, size, key = "", b"", 0, 0, b""
    pages: Iterator[tuple[bytes, bytes]] = data.iterate(family, start, None)
    count = 0
    for key, stored in islice(pages, _ROWS):
        count += 1
        if not prefix or not key.startswith(prefix):
            _add(found, tenant, rows, size)
            tenant, rows, size = str(keys.unpack(key)[0]), 0, 0
            prefix = keys.pack(tenant)
        rows += 1
        size += len(key) + len(stored) - REVISION.size
    _add(found, tenant, rows, size)
    return key + b"\0" if count == _ROWS else None


def _add(found: Stored, tenant: str, rows: int, size: int) -> None:
    if rows:
        before = found.get(tenant, (0, 0))
        found[tenant] = before[0] + rows, before[1] + size
