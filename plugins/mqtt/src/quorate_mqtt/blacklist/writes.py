"""The commands that write rows as they are given."""

from typing import Final

from quorate_mqtt.batches import Batch
from quorate_mqtt.blacklist.validation import check_entry
from quorate_mqtt.definitions.vocabulary import Writes
from quorate_mqtt.v1.blacklist_pb2 import (
    BlacklistEntry,
    CreateBlacklistEntriesCommand,
    PutBlacklistEntriesCommand,
    UpdateBlacklistEntriesCommand,
)

WRITES: Final = Writes(
    creation=Batch[BlacklistEntry](message=CreateBlacklistEntriesCommand, field="entries"),
    change=Batch[BlacklistEntry](message=UpdateBlacklistEntriesCommand, field="entries"),
    put=Batch[BlacklistEntry](message=PutBlacklistEntriesCommand, field="entries"),
    check=check_entry,
)
