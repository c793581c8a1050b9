from collections.abc import Mapping, Sequence
from typing import ClassVar

from google.protobuf.message import Message
from quorate.testing import PluginConformance
from quorate.testing.subject import named
from quorate.v1.cluster_pb2 import RegisterBroker, UnregisterBroker
from quorate_storage_engine.v1.queries_pb2 import GetShardQuery, ListDropsQuery, ListSegmentsQuery

#: Who leads the first segment of a fleet of five, with its epoch of registration.
LEADER, LEADER_EPOCH = b"engine-3", 3
#: These name an epoch of a segment which earlier commands have raised: tests of their own play
#: them.
OF_CONTROLLERS = (
    "ForceLeaders",
    "SwitchLeaders",
    "ElectLeaders",
    "MoveLeaders",
    "FillReplicas",
    "MoveReplicas",
    "RemoveSegments",
    "FinishRemovals",
    "ForgetDrops",
)


def by_leader(example: Message) -> Message:
    """Return what the engine that leads by then says, in the place of the one of the examples."""
    said = type(example)()
    said.ParseFromString(example.SerializeToString().replace(b"engine-1", LEADER))
    _claim(said)
    return said


def _claim(message: Message) -> None:
    for field, value in message.ListFields():
        if field.name == "broker_epoch":
            setattr(message, field.name, LEADER_EPOCH)
        elif field.message_type is not None:
            for part in value if hasattr(value, "append") else [value]:
                _claim(part)


class TestStorageEngine(PluginConformance):
    plugin = "storage_engine"
    beside = ("cluster", "tenant")
    only_refused: ClassVar[Sequence[str]] = tuple(
        f"quorate_storage_engine.v1.{name}" for name in OF_CONTROLLERS
    )
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
        led = list(map(by_leader, examples))
        return [*engines, *led, *examples, *gone, *examples, engines[0], *examples]

    def under_faults(self) -> Sequence[Message]:
        """The examples as the engine that leads says them, without those that are only refused."""
        led = map(by_leader, self._examples())
        return [each for each in led if named(each) not in self.only_refused]

    def queries(self) -> Sequence[Message]:
        return [
            *super().queries(),
            GetShardQuery(name="orders-0"),
            ListSegmentsQuery(engine="engine-3", under_replicated=True),
            ListSegmentsQuery(unavailable=True),
            ListDropsQuery(engine="engine-2"),
        ]
