"""The frames that an exception refers to, which hold the request that it ended."""

from __future__ import annotations


def drop_frames(error: BaseException) -> None:
    """Drop the frames of an exception and of the exceptions that led to it.

    Call it where an exception has become a status or a value: until then a log may need them. A
    frame that refers to its own exception is a cycle, and so are its request and its answer, which
    the collector of garbage may not reach before the memory of the node is full.
    """
    left, seen = [error], set[int]()
    while left:
        each = left.pop()
        if id(each) not in seen:
            seen.add(id(each))
            each.__traceback__ = None
            left += [other for other in (each.__cause__, each.__context__) if other is not None]
