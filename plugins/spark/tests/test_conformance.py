from collections.abc import Sequence

from google.protobuf.message import Message
from quorate.testing import PluginConformance
from quorate_spark.v1.queries_pb2 import GetLoadQuery, ListLoadsQuery


class TestSpark(PluginConformance):
    plugin = "spark"

    def queries(self) -> Sequence[Message]:
        return [GetLoadQuery(load_id="2026-11-20/pairs"), ListLoadsQuery()]
