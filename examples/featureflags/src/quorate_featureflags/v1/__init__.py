"""The messages of the plugin, generated from its classes."""
