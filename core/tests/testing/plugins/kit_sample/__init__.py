"""A small plugin that keeps every promise: the tests break it in one place at a time."""
