"""A model of engines that replicate, crash and come back, over the plugin's real commands."""
