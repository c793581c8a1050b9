from collections.abc import Mapping, Sequence
from typing import ClassVar

from google.protobuf.message import Message
from quorate.testing import PluginConformance
from quorate.v1.cluster_pb2 import RegisterBroker, UnregisterBroker
from quorate_storage_engine.v1.queries_pb2 import GetShardQuery, ListDropsQuery, ListSegmentsQuery


class TestStorageEngine(PluginConformance):
    plugin = "storage_engine"
    beside = ("cluster",)
    seeds: ClassVar[Sequence[int]] = (1, 2)
    config: ClassVar[Mapping[str, Mapping[str, object]]] = {"storage_engine": {"batch": 2}}

    def log(self) -> Sequence[Message]:
        """The examples over a fleet of five engines, of which two leave and one comes back."""
        engines = [
            RegisterBroker(name=f"engine-{number}", cluster_name="north", roles=["engine"])
            for number in range(1, 6)
        ]
        gone = [UnregisterBroker(name=f"engine-{number}", epoch=number) for number in (1, 2)]
        examples = self._examples()
        return [*engines, *examples, *gone, *examples, engines[0], *examples]

    def queries(self) -> Sequence[Message]:
        return [
            *super().queries(),
            GetShardQuery(name="orders-0"),
            ListSegmentsQuery(engine="engine-3", under_replicated=True),
            ListSegmentsQuery(unavailable=True),
            ListDropsQuery(engine="engine-2"),
        ]
