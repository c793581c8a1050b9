"""Sessions: opened, attached to connections, kept alive, ended with their ephemeral znodes."""
