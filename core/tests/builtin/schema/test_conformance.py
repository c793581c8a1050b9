from collections.abc import Sequence

from google.protobuf.message import Message
from quorate.builtin.schema import plugin
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.testing import PluginConformance
from quorate.v1.schema_pb2 import GetSchema, ListSchemaBindings, ListSchemas

OWN = Plugin(name="schema", distribution="quorate", version="1", module=plugin)


class TestSchema(PluginConformance):
    plugin = "schema"
    golden = "../../golden/quorate.binpb"
    catalog = build([OWN])

    def queries(self) -> Sequence[Message]:
        return [
            GetSchema(tenant="acme", name="order"),
            GetSchema(tenant="acme", name="order", version=1),
            ListSchemas(tenant="acme", limit=1),
            ListSchemaBindings(tenant="acme", resource="topics/orders"),
        ]

    def log(self) -> Sequence[Message]:
        """Once more before the end, so that bindings and schemas are left to be read."""
        return [*super().log(), *self._examples()[:6]]
