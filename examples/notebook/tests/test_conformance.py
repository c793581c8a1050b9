from quorate.testing import PluginConformance


class TestNotebook(PluginConformance):
    plugin = "notebook"
