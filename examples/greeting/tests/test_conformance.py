from collections.abc import Sequence

from google.protobuf.message import Message
from quorate.testing import PluginConformance
from quorate_greeting.v1.queries_pb2 import CountGreetingsQuery, ListGreetingsQuery


class TestGreeting(PluginConformance):
    plugin = "greeting"

    def queries(self) -> Sequence[Message]:
        return [ListGreetingsQuery(town="oslo"), CountGreetingsQuery()]
