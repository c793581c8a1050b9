from collections.abc import Sequence

from google.protobuf.message import Message
from quorate.testing import PluginConformance
from quorate_name_server.v1 import queries_pb2 as asked


class TestNameServer(PluginConformance):
    plugin = "name_server"

    def queries(self) -> Sequence[Message]:
        return [
            *super().queries(),
            asked.ReadRoutes(topics=["orders", "payments"]),
            asked.ReadBrokers(cluster="C1"),
            asked.ReadTopics(limit=2),
            asked.FindDeparted(),
        ]
