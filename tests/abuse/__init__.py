"""Attacks on real nodes; the `ATTACK` of each module runs in a test, or by hand."""
