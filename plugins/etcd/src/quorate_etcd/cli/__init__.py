"""The command line of the plugin."""
