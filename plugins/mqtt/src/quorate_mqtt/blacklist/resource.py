"""What the blacklist declares."""

from dataclasses import replace
from typing import Final

from quorate.plugin import DataRoute, Timer

from quorate_mqtt.batches import Batch
from quorate_mqtt.blacklist.apply import end_blacklist_entries
from quorate_mqtt.blacklist.families import END, ENTRIES
from quorate_mqtt.blacklist.service import SERVICE
from quorate_mqtt.blacklist.writes import WRITES
from quorate_mqtt.definitions import vocabulary
from quorate_mqtt.definitions.kind import key_of
from quorate_mqtt.resource import Resource
from quorate_mqtt.shards import GROUP, tenant_shard_of
from quorate_mqtt.v1.blacklist_pb2 import (
    BLACKLIST_KIND_CIDR,
    BLACKLIST_KIND_CLIENT_ID,
    BlacklistEntry,
    EndBlacklistEntriesCommand,
)

_ADA: Final = BlacklistEntry(
    tenant="acme",
    name="ada",
    kind=BLACKLIST_KIND_CLIENT_ID,
    subject="ada",
    ends_at_ms=100_000,
)
_LAB: Final = BlacklistEntry(
    tenant="globex", name="lab", kind=BLACKLIST_KIND_CIDR, subject="10.0.0.0/8"
)
_DUE: Final = Batch[bytes](message=EndBlacklistEntriesCommand, field="keys")
_WRITTEN: Final = vocabulary.resource(ENTRIES, WRITES, examples=(_ADA, _LAB), service=SERVICE)

RESOURCE: Final[Resource] = replace(
    _WRITTEN,
    commands=(
        *_WRITTEN.commands,
        _DUE.command(key=lambda key: key, shard_of=tenant_shard_of, examples=([key_of(_ADA)],)),
    ),
    routes=(
        *_WRITTEN.routes,
        DataRoute(message=EndBlacklistEntriesCommand, apply=end_blacklist_entries),
    ),
    controllers=(Timer(name=END, group=GROUP, due=_DUE.of),),
)
