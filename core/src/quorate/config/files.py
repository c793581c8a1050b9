"""The limit of files and sockets that this process may open."""

import resource
from contextlib import suppress
from typing import Final

#: More are of no use, and some systems have no limit.
_MOST: Final = 1 << 20


def open_files() -> int:
    """Return how many files this process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else min(soft, _MOST)


def raise_open_files() -> None:
    """Raise the soft limit of open files to the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return
    # Some systems allow less than their hard limit.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
