from collections.abc import Sequence

from google.protobuf.message import Message
from quorate.builtin.cluster import plugin as hooks
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.testing import PluginConformance
from quorate.v1.cluster_pb2 import GetBroker, ListBrokers


class TestCluster(PluginConformance):
    plugin = "cluster"
    golden = "../../golden/quorate.binpb"
    catalog = build([Plugin(name="cluster", distribution="quorate", version="0", module=hooks)])

    def queries(self) -> Sequence[Message]:
        return [GetBroker(name="broker-1"), ListBrokers(), ListBrokers(role="mqtt", limit=1)]
