from collections.abc import Sequence

from google.protobuf.message import Message
from quorate.builtin.tenant import plugin
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.testing import PluginConformance
from quorate.v1.tenant_pb2 import GetTenants, ListTenants

OWN = Plugin(name="tenant", distribution="quorate", version="1", module=plugin)


class TestTenant(PluginConformance):
    plugin = "tenant"
    golden = "../../golden/quorate.binpb"
    catalog = build([OWN])

    def queries(self) -> Sequence[Message]:
        return [GetTenants(names=["acme", "nobody"]), ListTenants(prefix="b", limit=1)]
