from quorate.builtin.tenant import plugin
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.testing import PluginConformance

OWN = Plugin(name="tenant", distribution="quorate", version="1", module=plugin)


class TestTenant(PluginConformance):
    plugin = "tenant"
    golden = "../../golden/quorate.binpb"
    catalog = build([OWN])
