"""A model of workers that die, come back and hear late, over the plugin's real commands."""
