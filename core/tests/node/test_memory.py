"""Memory that was freed goes back to the system once there is much of it."""

from __future__ import annotations

import asyncio

from quorate.node.memory import LONGEST_PAUSE_S, LOOK_S, WORTH_BYTES, FreedMemory, resident_bytes


class Process:
    """Holds some memory, of which a part is free."""

    def __init__(self) -> None:
        self.held = WORTH_BYTES
        self.free = 0
        self.searches = 0
        self.memory = FreedMemory(asyncio.get_running_loop(), lambda: self.held, self._give_back)

    def _give_back(self) -> None:
        self.searches += 1
        self.held -= self.free
        self.free = 0

    async def look(self, times: int = 1) -> int:
        """Look some times, and return how often something free was searched for."""
        before = self.searches
        for _ in range(times):
            await self.memory.look()
        return self.searches - before


async def test_what_a_node_has_grown_by_is_given_back() -> None:
    process = Process()
    process.held += WORTH_BYTES - 1
    assert await process.look() == 0
    process.held += WORTH_BYTES
    process.free = 2 * WORTH_BYTES - 1

    assert await process.look(10) == 1
    assert process.held == WORTH_BYTES


async def test_a_node_that_shrank_by_itself_is_measured_by_that() -> None:
    process = Process()
    process.held //= 2
    assert await process.look() == 0
    process.held += WORTH_BYTES
    process.free = WORTH_BYTES

    assert await process.look(10) == 1


async def test_a_node_that_needs_more_is_searched_less_and_less_often() -> None:
    process = Process()
    process.held *= 3
    assert await process.look(3) == 2
    assert await process.look(4) == 1
    longest = round(LONGEST_PAUSE_S / LOOK_S)
    await process.look(2 * longest)
    assert await process.look(2 * longest) == 2
    # What is freed later is found, too.
    process.free = process.held - WORTH_BYTES
    await process.look(longest)
    assert process.held == WORTH_BYTES


def test_a_process_knows_how_much_it_holds() -> None:
    assert resident_bytes() > 10 << 20
