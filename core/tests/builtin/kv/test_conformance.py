from collections.abc import Sequence
from typing import ClassVar

from google.protobuf.message import Message
from quorate.builtin.kv import plugin as kv
from quorate.plugin.catalog import Catalog, build
from quorate.plugin.discovery import Plugin
from quorate.testing import PluginConformance
from quorate.v1.kv_pb2 import GetPair, GetPairs, ListPairs


class TestKv(PluginConformance):
    plugin = "kv"
    golden = "../../golden/quorate.binpb"
    catalog: ClassVar[Catalog | None] = build(
        [Plugin(name="kv", distribution="quorate", version="0", module=kv)]
    )

    def queries(self) -> Sequence[Message]:
        return [
            GetPair(),
            GetPair(key=b"jobs/1"),
            GetPairs(keys=[b"locks/leader", b"jobs/1", b"jobs/9"]),
            ListPairs(),
            ListPairs(prefix=b"jobs/", limit=1),
        ]
