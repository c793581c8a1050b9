"""The handlers: pure functions of a transaction and a command, run on every replica."""

from quorate.plugin import Txn, still_due
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.blacklist.families import END, ENTRIES
from quorate_mqtt.definitions.apply import erase
from quorate_mqtt.v1.blacklist_pb2 import EndBlacklistEntriesCommand


def end_blacklist_entries(txn: Txn, command: EndBlacklistEntriesCommand) -> BatchReply:
    """Delete the entries whose end stands and has come: an update may have moved it since."""
    for key in still_due(txn, END, command.keys):
        erase(ENTRIES, txn, key)
    return BatchReply(items=len(command.keys))
