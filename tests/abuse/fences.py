"""A writer claims tokens of fences that nobody gave out, to shut out the holders of locks."""

from __future__ import annotations

from secrets import token_hex

from quorate.client import AsyncClient, RejectedError, connect
from quorate.plugin import Fence
from quorate_coordination.client import Coordination
from quorate_coordination.families import lock_fence, row_fence

from tests.abuse.attack import Attack, Broken, Target

_LARGEST = (1 << 64) - 1
#: First parts of keys: with two shards of `metadata` some lie with the lock, and some elsewhere.
_PLACES = [f"place{number}" for number in range(8)]


async def _claim(q: AsyncClient, name: bytes, token: int) -> int:
    """Send writes of one's own with a fence of others; return how many were let through."""
    taken = 0
    for place in _PLACES:
        try:
            await q.kv.put(f"{place}/mine", b"", fence=Fence(name, token))
        except RejectedError:
            continue
        taken += 1
    return taken


async def _write(q: AsyncClient, fence: Fence, of: str) -> None:
    for place in _PLACES:
        try:
            await q.kv.put(f"{place}/theirs", b"", fence=fence)
        except RejectedError as error:
            raise Broken(f"{of} is shut out at {place}: {error}") from None


async def run(target: Target) -> str:
    """Claim the fences of a lock, before, while and after it is held, and of a lease's row."""
    name, claimed = f"abuse/{token_hex(4)}", 0
    async with (
        connect(target.endpoints, tls=target.tls) as holder,
        connect(target.endpoints, tls=target.tls) as other,
    ):
        locks = Coordination(holder)
        claimed += await _claim(other, lock_fence(name), _LARGEST)
        for turn in ("the first holder", "the next holder"):
            async with locks.lock(name) as held:
                await _write(holder, held.fence, turn)
                for token in (held.token + 1, held.token + 2, _LARGEST):
                    claimed += await _claim(other, held.fence.name, token)
                await _write(holder, held.fence, f"{turn}, after tokens were claimed,")
        async with locks.lease("abuse") as lease:
            await lease.put("abuse/row", b"1")
            [fence] = lease._attached.values()
            claimed += await _claim(other, fence.name, _LARGEST)
            claimed += await _claim(other, row_fence(token_hex(4)), _LARGEST)
            await lease.put("abuse/row", b"2")
        if await holder.kv.get("abuse/row") is not None:
            raise Broken("a row outlived its lease, since its fence was claimed")
        own = f"own/{token_hex(4)}".encode()
        await holder.kv.put("own/row", b"", fence=Fence(own, 7))
        try:
            await other.kv.put("own/row", b"", fence=Fence(own, _LARGEST))
        except RejectedError:
            pass
        else:
            raise Broken("one write took a fence to the last token there is")
    if claimed:
        raise Broken(f"{claimed} writes were let through with tokens that nobody gave out")
    return "no token was taken that was not given out, and each holder wrote in every shard"


ATTACK = Attack(
    run=run, plugins=("coordination",), settings={"groups": {"metadata": {"shards": 2}}}
)
