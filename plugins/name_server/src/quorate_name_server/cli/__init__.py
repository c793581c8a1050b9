"""The command group `quorate name-server`."""
