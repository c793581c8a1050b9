from collections.abc import Sequence

from google.protobuf.message import Message
from quorate.builtin.resource import plugin
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.testing import PluginConformance
from quorate.v1.resource_pb2 import GetResources, ListResources

OWN = Plugin(name="resource", distribution="quorate", version="1", module=plugin)


class TestResource(PluginConformance):
    plugin = "resource"
    golden = "../../golden/quorate.binpb"
    catalog = build([OWN])

    def queries(self) -> Sequence[Message]:
        return [
            GetResources(paths=["settings/mqtt", "settings/none"]),
            ListResources(prefix="settings/", limit=1),
        ]
