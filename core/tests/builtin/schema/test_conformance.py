from collections.abc import Sequence

from google.protobuf.message import Message
from quorate.builtin.schema import plugin
from quorate.builtin.tenant import plugin as tenants
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.testing import PluginConformance
from quorate.v1.schema_pb2 import GetSchema, ListSchemaBindings, ListSchemas
from quorate.v1.tenant_pb2 import CreateTenant

TENANTS = Plugin(name="tenant", distribution="quorate", version="1", module=tenants)
OWN = Plugin(name="schema", distribution="quorate", version="1", module=plugin)


class TestSchema(PluginConformance):
    plugin = "schema"
    golden = "../../golden/quorate.binpb"
    catalog = build([OWN, TENANTS])

    def queries(self) -> Sequence[Message]:
        return [
            GetSchema(tenant="acme", name="order"),
            GetSchema(tenant="acme", name="order", version=1),
            ListSchemas(tenant="acme", limit=1),
            ListSchemaBindings(tenant="acme", resource="topics/orders"),
        ]

    def log(self) -> Sequence[Message]:
        """Once more before the end, so that bindings and schemas are left to be read."""
        examples = self._examples()
        return [CreateTenant(name="acme"), *examples, *examples, *examples[:3], examples[4]]
