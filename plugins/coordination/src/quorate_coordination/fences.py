"""The fences of locks, and of rows that go with a lease: which tokens were given out."""

from collections.abc import Iterator
from typing import Final

from quorate.plugin import Extension, Fence, NodeApi, Query, Reader, keys
from quorate.plugin.advanced import FENCE_NAMES, FenceNames

from quorate_coordination.families import GROUP, LOCK_FENCE, ROW_FENCE, TOKENS, place_of
from quorate_coordination.v1 import locks_pb2 as pb

#: The number of the shard that has given a token out stands above these bits of it.
_SHARD_BIT: Final = 49


def _find(reader: Reader, asked: pb.FindFence) -> Iterator[pb.FenceFound]:
    yield pb.FenceFound(
        token=reader.newest_fence(asked.name), newest=2 * reader.newest_id(TOKENS) + 1
    )


def _place(asked: pb.FindFence) -> bytes | None:
    return place_of(keys.pack(asked.lock)) if asked.lock else None


async def _given(node: NodeApi, fence: Fence) -> bool:
    """Whether a token is at most the newest one of its name.

    Of a name of which nothing is remembered: of all that its shard has given out.
    """
    asked = pb.FindFence(name=fence.name, lock=_lock_of(fence.name))
    found = (await node.read(asked, pb.FenceFound)).rows
    newest = max((each.token for each in found), default=0)
    if newest:
        return fence.token <= newest
    shard = fence.token >> _SHARD_BIT
    return any(fence.token <= each.newest for each in found if each.newest >> _SHARD_BIT == shard)


def _lock_of(name: bytes) -> str:
    """Return the lock that a fence is of; "": it is of a row."""
    try:
        word, lock, *_ = keys.unpack(name)
    except ValueError:
        return ""
    return lock if word == LOCK_FENCE and isinstance(lock, str) else ""


FIND: Final = Query(
    message=pb.FindFence,
    group=GROUP,
    run=_find,
    shard_key=_place,
    order=lambda found: found.newest.to_bytes(8),
)
NAMES: Final = tuple(
    Extension(
        point=FENCE_NAMES,
        name=f"coordination.{word}s",
        value=FenceNames(word=word, domain="coordination", key=_lock_of, given=_given),
    )
    for word in (LOCK_FENCE, ROW_FENCE)
)
