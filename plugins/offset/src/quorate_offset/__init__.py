"""Consumer offsets: a plugin for Quorate."""
