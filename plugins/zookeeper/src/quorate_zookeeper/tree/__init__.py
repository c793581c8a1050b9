"""The tree of znodes: how it is stored, read and changed."""
