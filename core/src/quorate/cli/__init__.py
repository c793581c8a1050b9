"""The `quorate` command: what is here starts nothing and is imported by nobody below."""
