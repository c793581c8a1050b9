"""Finds the first entry of a node's cluster, by forming the cluster or asking its members."""

import asyncio
from collections.abc import Callable, Collection, Coroutine
from typing import Any, Final

from quorate.config import Settings
from quorate.consensus.formation import Formation, FormationRefusedError, Introduction
from quorate.consensus.messages import Peer
from quorate.consensus.peer.network import OTHER_TOKEN, IntroductionRefusedError
from quorate.shards.timing import end

_RETRY_S: Final = 0.05

Introduce = Callable[[str, Introduction], Coroutine[Any, Any, Introduction]]


def initial_members(settings: Settings) -> Collection[str]:
    """Return the nodes that form the cluster; empty if the node joins one."""
    if settings.cluster.join:
        return ()
    return settings.cluster.initial_members or (settings.node.name,)


class Forming:
    """One node on its way into a cluster; without initial members it joins an existing one."""

    def __init__(self, me: Peer, initial_members: Collection[str], first_entry: bytes) -> None:
        self._me: Final = me
        self._members: Final = tuple(sorted(initial_members))
        forms = bool(self._members) and not first_entry
        self._formation: Final = Formation(me, self._members) if forms else None
        self._found: Final[asyncio.Future[bytes]] = asyncio.get_running_loop().create_future()
        if first_entry:
            self._found.set_result(first_entry)

    @property
    def introduction(self) -> Introduction:
        """The introduction of this node."""
        formed = self._found.done() and self._found.exception() is None
        found = self._found.result() if formed else b""
        return Introduction(self._me, self._members, found)

    def receive(self, other: Introduction) -> Introduction:
        """Process and answer the introduction of a node; raises `FormationRefusedError`."""
        if not self._found.done():
            if self._formation is None:
                found = other.first_entry
            else:
                settled = self._formation.receive(other)
                found = b"" if settled is None else settled.encode()
            if found:
                self._found.set_result(found)
        return self.introduction

    async def first_entry(self, introduce: Introduce, addresses: Collection[str]) -> bytes:
        """Ask the others until the first entry is known.

        Raises `FormationRefusedError`, also if one of them has another token: a cluster of nodes
        with different files is never formed.
        """
        if (
            not self._found.done()
            and self._formation is not None
            and (settled := self._formation.settled()) is not None
        ):
            self._found.set_result(settled.encode())
        others = set(self._members or addresses) - {self._me.node}
        asking = [asyncio.create_task(self._ask(introduce, other)) for other in sorted(others)]
        for task in asking:
            task.add_done_callback(self._asked)
        try:
            return await self._found
        finally:
            await end(*asking)

    async def _ask(self, introduce: Introduce, other: str) -> None:
        while not self._found.done():
            try:
                self.receive(await introduce(other, self.introduction))
            except IntroductionRefusedError as refused:
                if OTHER_TOKEN in str(refused):
                    raise FormationRefusedError(
                        f"{other} and {self._me.node} have different [cluster] tokens; make the"
                        " files equal, or remove the address of another cluster from"
                        " cluster.initial_members"
                    ) from None
            await asyncio.sleep(_RETRY_S)

    def _asked(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and not self._found.done() and (error := task.exception()):
            self._found.set_exception(error)
