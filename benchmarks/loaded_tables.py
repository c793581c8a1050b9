"""The tables that the benchmark of Spark loads: what their rows are, and how a client writes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from quorate.builtin.kv.families import PAIRS
from quorate.client import Client
from quorate.plugin import keys
from quorate.testing.waiting import until
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_mqtt.client import SyncMqtt
from quorate_mqtt.sessions.families import SESSIONS
from quorate_mqtt.shards import GROUP
from quorate_mqtt.v1.sessions_pb2 import ImportSession

#: Rows of one call of the faster loop.
MANY: Final = 1_000
#: Those of the load belong to the one, and those of a client to the other.
TENANT: Final = "acme"
OTHER: Final = "globex"
PREFIX: Final = b"tenant-"
TENANTS: Final = 97
EXPIRY_S: Final = 7 * 24 * 3_600
PAYLOAD_BYTES: Final = 100
#: The payload of row `id` in SQL: digests do not compress.
PAYLOAD: Final = (
    "unhex(substr(concat(sha2(cast(id as string), 512), sha2(cast(-id as string), 512)), 1, "
    f"{2 * PAYLOAD_BYTES}))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedTable:
    """A table, and what a benchmark needs to know of it."""

    name: str
    group: str
    #: Beside those of core.
    plugins: Sequence[str]
    #: The columns of row `id` in SQL.
    columns: Sequence[str]
    #: Of the keys of all rows that are loaded.
    prefix: bytes
    prepare: Callable[[Client], None]
    #: Writes rows of those names in one call, beside those that are loaded.
    write: Callable[[Client, Sequence[str]], None]


def _write_pairs(client: Client, names: Sequence[str]) -> None:
    if len(names) == 1:
        client.kv.put(names[0], os.urandom(PAYLOAD_BYTES))
    else:
        client.kv.put_many({name.encode(): os.urandom(PAYLOAD_BYTES) for name in names})


def _import_sessions(client: Client, names: Sequence[str]) -> None:
    reply = SyncMqtt(client).sessions.import_many([_session(name) for name in names])
    if reply.refusals:
        raise RuntimeError(f"{len(reply.refusals)} were refused; the first: {reply.refusals[0]}")


def _session(name: str) -> ImportSession:
    return ImportSession(
        tenant=OTHER, client_id=name, expiry_interval_s=EXPIRY_S, payload=os.urandom(PAYLOAD_BYTES)
    )


def _create_tenants(client: Client) -> None:
    for tenant in (TENANT, OTHER):
        client.execute(CreateTenant(name=tenant), Tenant)
    known = [
        ImportSession(tenant=tenant, client_id=f"known-{number}", expiry_interval_s=1)
        for tenant in (TENANT, OTHER)
        for number in range(64)
    ]
    # A shard refuses sessions of a tenant that has not come to it yet.
    until(lambda: None if SyncMqtt(client).sessions.import_many(known).refusals else True)


TABLES: Final[Mapping[str, LoadedTable]] = {
    PAIRS: LoadedTable(
        name=PAIRS,
        group="metadata",
        plugins=(),
        # What a key has before its slash decides the shard.
        columns=(
            f"cast(concat('{PREFIX.decode()}', id % {TENANTS}, '/client-', id) as binary) as key",
            f"{PAYLOAD} as value",
        ),
        prefix=PREFIX,
        prepare=lambda _: None,
        write=_write_pairs,
    ),
    SESSIONS: LoadedTable(
        name=SESSIONS,
        group=GROUP,
        plugins=("mqtt",),
        columns=(
            f"'{TENANT}' as tenant",
            "concat('client-', id) as client_id",
            f"{EXPIRY_S}L as expiry_interval_s",
            f"{PAYLOAD} as payload",
        ),
        prefix=keys.pack(TENANT, "client-")[:-1],
        prepare=_create_tenants,
        write=_import_sessions,
    ),
}
