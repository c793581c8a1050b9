"""What a test asks of a process: JSON over gRPC, and payloads as they are."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import asdict
from statistics import quantiles
from time import perf_counter
from typing import Any, Final

import grpc
import grpc.aio

from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.consensus.proposals import Fate
from quorate.consensus.refusals import (
    ChangeRefusedError,
    EntryTooLargeError,
    NotLeaderError,
    TransferRefusedError,
)
from quorate.consensus.status import Proposed
from quorate.testing.replica_process.node import Node, NotFormedError

SERVICE: Final = "quorate.testing.ReplicaProcess"

Answer = dict[str, Any]
_REFUSALS: Final = (ChangeRefusedError, EntryTooLargeError, TransferRefusedError, NotFormedError)


class Control:
    """Answers what a test asks. Every answer has an `outcome`."""

    def __init__(self, node: Node) -> None:
        self._node: Final = node

    def add_to_server(self, server: grpc.aio.Server) -> None:
        """Serve the methods."""
        methods: dict[str, Callable[[bytes], Coroutine[Any, Any, Answer]]] = {
            "Propose": self._propose,
            "Load": self._load,
            "Read": self._read,
            "Status": self._status,
            "ChangeMembership": self._change_membership,
            "Transfer": self._transfer,
        }
        served = {
            name: grpc.unary_unary_rpc_method_handler(_answering(method))
            for name, method in methods.items()
        }
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, served)])

    async def _propose(self, payload: bytes) -> Answer:
        return _fate(*await self._node.propose(payload))

    async def _change_membership(self, asked: bytes) -> Answer:
        members = (
            Member(Peer(each["node"], each["replica"]), each["voter"]) for each in json.loads(asked)
        )
        return _fate(*await self._node.change_membership(Configuration.of(members)))

    async def _transfer(self, asked: bytes) -> Answer:
        self._node.transfer(asked.decode())
        return {"outcome": "begun"}

    async def _read(self, _: bytes) -> Answer:
        """Read all that was applied, at an index that is safe."""
        index = await self._node.read()
        if index is None:
            return {"outcome": "ask again"}
        register = self._node.register
        return {
            "outcome": "read",
            "index": register.index,
            "checksum": register.checksum,
            "heads": [head.decode("latin-1") for head in register.heads],
        }

    async def _status(self, _: bytes) -> Answer:
        status = self._node.replica.status()
        network = self._node.network
        return {
            "outcome": "status",
            **asdict(status),
            "me": self._node.replica.me,
            "entry_bytes_sent": self._node.replica.entry_bytes_sent,
            "links": {
                f"{node} {lane}": {
                    "stands": link.stands,
                    "frames": link.frames,
                    "messages": link.messages,
                    "entry_bytes": link.entry_bytes,
                    "dropped": link.dropped,
                    "connections": link.connections,
                }
                for (node, lane), link in network.links.items()
            },
            "refused": {f"{node}: {reason}": n for (node, reason), n in network.refused.items()},
        }

    async def _load(self, asked: bytes) -> Answer:
        """Propose so many payloads of a size, so many at a time, and say how long each took."""
        load = json.loads(asked)
        payload = b"\x55" * load["size"]
        left = load["count"]
        took: list[float] = []

        async def propose_in_turn() -> None:
            nonlocal left
            while left > 0:
                left -= 1
                begun = perf_counter()
                fate, _ = await self._node.propose(payload)
                if fate is not Fate.APPLIED:
                    raise ChangeRefusedError(f"a proposal under load ended {fate.value}")
                took.append(perf_counter() - begun)

        begun = perf_counter()
        await asyncio.gather(*(propose_in_turn() for _ in range(load["in_flight"])))
        seconds = perf_counter() - begun
        cuts = quantiles(took, n=100)
        return {
            "outcome": "applied",
            "per_s": len(took) / seconds,
            "p50_ms": cuts[49] * 1e3,
            "p99_ms": cuts[98] * 1e3,
        }


def _answering(
    method: Callable[[bytes], Coroutine[Any, Any, Answer]],
) -> Callable[[bytes, object], Coroutine[Any, Any, bytes]]:
    async def answer(content: bytes, _: object) -> bytes:
        try:
            answered = await method(content)
        except NotLeaderError as error:
            leader = error.leader.node if error.leader else None
            answered = {"outcome": "not leader", "leader": leader}
        except _REFUSALS as error:
            answered = {"outcome": "refused", "why": str(error)}
        return json.dumps(answered).encode()

    return answer


def _fate(fate: Fate, proposed: Proposed) -> Answer:
    return {"outcome": fate.value, "index": proposed.index, "term": proposed.term}
