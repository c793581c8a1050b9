"""The wall clock of this machine."""

import time


def wall_ms() -> int:
    """Return what it shows."""
    return int(time.time() * 1_000)
