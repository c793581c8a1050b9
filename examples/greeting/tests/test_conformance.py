from quorate.testing import PluginConformance


class TestGreeting(PluginConformance):
    plugin = "greeting"
