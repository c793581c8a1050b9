from quorate.testing import PluginConformance


class TestCoordination(PluginConformance):
    plugin = "coordination"
