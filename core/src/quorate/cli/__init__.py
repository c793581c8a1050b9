"""The `quorate` command: importing it starts nothing, and no lower layer imports it."""
