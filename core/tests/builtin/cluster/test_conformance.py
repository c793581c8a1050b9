from collections.abc import Sequence

from google.protobuf.message import Message
from quorate.builtin.cluster import plugin as hooks
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.testing import PluginConformance
from quorate.v1.cluster_pb2 import ListBrokers, UnregisterBroker, UnregisterBrokers
from quorate.v1.coordinator_pb2 import (
    AssignCoordinator,
    FindCoordinatorMoves,
    FindCoordinators,
)


class TestCluster(PluginConformance):
    plugin = "cluster"
    golden = "../../golden/quorate.binpb"
    catalog = build([Plugin(name="cluster", distribution="quorate", version="0", module=hooks)])

    def log(self) -> Sequence[Message]:
        """The examples, and brokers that leave with the epochs which they have by then."""
        leaving = UnregisterBrokers(brokers=[UnregisterBroker(name="broker-1", epoch=4)])
        return [*super().log(), leaving]

    def queries(self) -> Sequence[Message]:
        return [
            ListBrokers(),
            ListBrokers(role="mqtt", limit=1),
            FindCoordinators(coordinators=[AssignCoordinator(role="mqtt", key="jobs")]),
            FindCoordinatorMoves(),
        ]
