"""The handler that collects: a pure function of a transaction and a command."""

from quorate.plugin import Txn, answer_each
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.activity.counts import collect
from quorate_mqtt.v1.activity_pb2 import Activity, CollectActivity


def collect_activity(txn: Txn, command: CollectActivity) -> BatchReply:
    """Answer with what this shard has counted, and begin anew."""

    def collected(txn: Txn, probe: bytes) -> Activity:
        return Activity(probe=probe, **collect(txn)._asdict())

    return answer_each(txn, command.probes, collected)
