"""Sessions: opened, attached to connections, renewed, and ended with their ephemeral znodes."""
