"""Where the rows are, and the deadlines at which they end."""

from typing import Final

from quorate.plugin import Rejected, Txn

from quorate_mqtt.batches import Batch
from quorate_mqtt.definitions.kind import Kind
from quorate_mqtt.v1.blacklist_pb2 import BlacklistEntry, DeleteBlacklistEntriesCommand
from quorate_mqtt.v1.definitions_pb2 import DefinitionName

#: The timer of the entries that end: its deadlines have the keys of their rows.
END: Final = "mqtt.blacklist_end"


def _refuse_ended(txn: Txn, entry: BlacklistEntry) -> None:
    if 0 < entry.ends_at_ms <= txn.proposed_at_ms:
        raise Rejected(
            "FAILED_PRECONDITION",
            f"blacklist entry {entry.name} of {entry.tenant} ended at {entry.ends_at_ms} ms, and "
            f"it is {txn.proposed_at_ms} ms: give a later end, or none",
        )


def _keep_deadline(txn: Txn, key: bytes, entry: BlacklistEntry | None) -> None:
    ends_at_ms = entry.ends_at_ms if entry is not None else 0
    txn.schedule(END, key, ends_at_ms or None)


ENTRIES: Final = Kind(
    family="mqtt.blacklist_entries",
    row=BlacklistEntry,
    noun="blacklist entry",
    deletion=Batch[DefinitionName](message=DeleteBlacklistEntriesCommand, field="names"),
    refuse=_refuse_ended,
    follow=_keep_deadline,
)
