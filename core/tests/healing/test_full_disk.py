"""Who leads in place of a node without room on its disk."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from quorate.consensus.refusals import TransferRefusedError
from quorate.healing import full_disk as full_disk_module
from quorate.healing.full_disk import FullDisk
from quorate.shards.shard.settings import ShardSettings

PEERS = {name: SimpleNamespace(node=name) for name in "abcde"}


class Led:
    """A shard that is led here; `refuses` to be handed over."""

    def __init__(self, *, refuses: bool = False, silent: str = "", voters: str = "abc") -> None:
        self.settings = ShardSettings()
        self.replica = self
        self.leads = True
        self.heirs: list[str] = []
        self._refuses = refuses
        self._silent = silent
        self._voters = voters

    def status(self) -> Any:
        followers = [
            SimpleNamespace(peer=PEERS[name], match=match, silent_s=9.0 * (name in self._silent))
            for name, match in (("b", 7), ("c", 5), ("d", 3), ("e", 1))
            if name in self._voters
        ]
        configuration = SimpleNamespace(
            voters=[PEERS[name] for name in self._voters], majority=len(self._voters) // 2 + 1
        )
        return SimpleNamespace(configuration=configuration, followers=followers)

    def transfer(self, node: str) -> None:
        self.heirs.append(node)
        if self._refuses:
            raise TransferRefusedError("one is under way")
        self.leads = False


async def look(*led: Led, short: bool = True, full: str = "") -> None:
    """Let it look once."""
    shards: Any = SimpleNamespace(leading=lambda: led)
    looked = asyncio.Event()

    def shortage() -> str | None:
        looked.set()
        return "1000 bytes are free" if short else None

    handing = FullDisk(asyncio.get_running_loop(), shards, shortage, full.__contains__)
    handing.start()
    await looked.wait()
    await asyncio.sleep(0)
    await handing.stop()


async def test_the_voter_that_needs_the_least_and_has_room_leads() -> None:
    one, two = Led(), Led(refuses=True)
    await look(one, two)
    assert (one.heirs, two.heirs) == (["b"], ["b"])
    three = Led(voters="abcde")
    await look(three, full="b")
    assert three.heirs == ["c"]


async def test_nothing_is_handed_over_while_there_is_room_or_where_there_is_none_either() -> None:
    one, two = Led(), Led()
    await look(one, short=False)
    await look(two, full="bc")
    assert one.heirs == two.heirs == []


async def test_nothing_is_handed_over_to_one_that_no_majority_could_follow() -> None:
    one, two, three, four = Led(), Led(silent="b"), Led(voters="ab"), Led(voters="a")
    await look(one, full="b")
    await look(two, three, four)
    assert one.heirs == two.heirs == three.heirs == four.heirs == []


async def test_shards_that_nobody_takes_do_not_keep_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(full_disk_module, "_AT_ONCE", 1)
    kept, waiting, led, later = Led(), Led(refuses=True), Led(), Led()
    kept.leads = False
    await look(kept, waiting, led, later)
    assert (kept.heirs, waiting.heirs, led.heirs, later.heirs) == ([], ["b"], ["b"], [])
