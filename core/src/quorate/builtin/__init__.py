"""The domains that come with Quorate, each shaped like a plugin of anyone."""
