from collections.abc import Sequence

from google.protobuf.message import Message
from quorate.builtin.resource import plugin
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.testing import PluginConformance
from quorate.v1.resource_pb2 import DeleteResource, DeleteResources

OWN = Plugin(name="resource", distribution="quorate", version="1", module=plugin)


class TestResource(PluginConformance):
    plugin = "resource"
    golden = "../../golden/quorate.binpb"
    catalog = build([OWN])

    def log(self) -> Sequence[Message]:
        """The examples, and one resource that is deleted whatever its revision is."""
        deletion = DeleteResources(deletions=[DeleteResource(path="settings/mqtt")])
        return [*super().log(), deletion]
