"""What a test asks of a process: JSON over gRPC, and commands as the log holds them."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import asdict
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final

import grpc
import grpc.aio

from quorate.apply.control import METADATA
from quorate.apply.entries import decode, index_of
from quorate.apply.outcomes import WRONG_SHARD, Outcome
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.consensus.refusals import ChangeRefusedError, NotLeaderError, TransferRefusedError
from quorate.groups.refusals import (
    NoLeaderError,
    NotProposedError,
    OutcomeUnknownError,
    UnreadableError,
    WrongShardError,
)
from quorate.groups.routing.queries import MAX_ROWS
from quorate.plugin import Invalid, RowEvent
from quorate.storage.engine.port import EngineError
from quorate.testing.replica_process.audit import audit
from quorate.testing.replica_process.domain import FAMILIES, ITEMS, NOTES
from quorate.testing.replica_process.loads import Load, LoadFailedError, item_key, run
from quorate.testing.replica_process.logged import logged
from quorate.testing.replica_process.loop_stops import LoopStops
from quorate.testing.replica_process.node import SERVICE, Node, NotFormedError
from quorate.testing.replica_process.v1.domain_pb2 import Note

Answer = dict[str, Any]
_REFUSALS: Final = (
    ChangeRefusedError,
    TransferRefusedError,
    NotFormedError,
    LoadFailedError,
    Invalid,
)
_END: Final = b"\xff" * 16
_READ_S: Final = 2.0


class Control:
    """Answers what a test asks. Every answer has an `outcome`."""

    def __init__(self, node: Node) -> None:
        self._node: Final = node

    def add_to_server(self, server: grpc.aio.Server) -> None:
        """Serve the methods."""
        methods: dict[str, Callable[[bytes], Coroutine[Any, Any, Answer]]] = {
            "Propose": self._propose,
            "Note": self._note,
            "Load": self._load,
            "Read": self._read,
            "Get": self._get,
            "Scan": self._scan,
            "Watch": self._watch,
            "Digest": self._digest,
            "Audit": self._audit,
            "Checkpoint": self._checkpoint,
            "Status": self._status,
            "Memory": self._memory,
            "ChangeMembership": self._change_membership,
            "Transfer": self._transfer,
        }
        served = {
            name: grpc.unary_unary_rpc_method_handler(_answering(method))
            for name, method in methods.items()
        }
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, served)])

    # Writes.

    async def _propose(self, content: bytes) -> Answer:
        """Propose the commands of an encoded entry, whatever they are."""
        outcomes = await self._node.shard.propose(decode(content).commands)
        if any(each.refusal is not None and each.refusal.code == WRONG_SHARD for each in outcomes):
            raise WrongShardError(METADATA, "it was just founded, and has not adopted its slots")
        return {
            "outcome": "applied",
            "index": index_of(outcomes[0].revision),
            "results": [_result(outcome) for outcome in outcomes],
        }

    async def _note(self, name: bytes) -> Answer:
        (outcome,) = await self._node.shard.propose((logged(Note(name=name)),))
        if outcome.refusal is not None:
            raise WrongShardError(METADATA, outcome.refusal.message)
        self._node.mark("proposal", name)
        return {"outcome": "applied", "index": index_of(outcome.revision)}

    async def _load(self, asked: bytes) -> Answer:
        """Propose many commands from within; see `Load`."""
        return {"outcome": "applied", **await run(self._node.shard, Load(**json.loads(asked)))}

    async def _change_membership(self, asked: bytes) -> Answer:
        members = (
            Member(Peer(each["node"], each["replica"]), each["voter"]) for each in json.loads(asked)
        )
        index = await self._node.shard.change_membership(Configuration.of(members))
        return {"outcome": "applied", "index": index}

    async def _transfer(self, asked: bytes) -> Answer:
        self._node.shard.transfer(asked.decode())
        return {"outcome": "begun"}

    # Reads.

    async def _read(self, _: bytes) -> Answer:
        """Read all names that were noted, linearizably."""
        shard = self._node.shard
        await shard.read_barrier(_READ_S)
        reader = shard.reader(FAMILIES)
        rows = reader.scan(NOTES, b"", _END, limit=10_000_000)
        return {"outcome": "read", "heads": [row.value.decode("latin-1") for row in rows]}

    async def _get(self, asked: bytes) -> Answer:
        """Read one row; linearizably, if that is asked."""
        wanted = json.loads(asked)
        shard = self._node.shard
        if wanted.get("linearizable", True):
            await shard.read_barrier(_READ_S)
        value = shard.reader(FAMILIES).get(wanted["family"], bytes.fromhex(wanted["key"]))
        return {"outcome": "read", "value": None if value is None else value.hex()}

    async def _scan(self, asked: bytes) -> Answer:
        """Read the items of a load, as they are here: all page by page, and some by their keys."""
        wanted = json.loads(asked)
        reader = self._node.shard.reader(FAMILIES)
        family = wanted.get("family", ITEMS)
        begun = perf_counter()
        rows, start = 0, b""
        while rows < wanted["limit"]:
            page = list(reader.scan(family, start, _END, limit=MAX_ROWS))
            rows += len(page)
            if len(page) < MAX_ROWS:
                break
            start = page[-1].key + b"\x00"
        scanned = perf_counter() - begun
        gets = [item_key(number) for number in wanted.get("gets", [])]
        begun = perf_counter()
        missing = [key.decode() for key in gets if reader.get(family, key) is None]
        got = perf_counter() - begun
        return {
            "outcome": "read",
            "rows": rows,
            "rows_per_s": rows / scanned,
            "missing": missing,
            "get_us": got / max(1, len(gets)) * 1e6,
        }

    async def _watch(self, asked: bytes) -> Answer:
        """Watch the items, from a token or from the rows on, until so many events have come."""
        wanted = json.loads(asked)
        watch = self._node.watches().open(
            {ITEMS: b""}, [self._node.shard.id], bytes.fromhex(wanted["token"])
        )
        events: list[Any] = []
        token = b""
        try:
            async with asyncio.timeout(_READ_S):
                async for seen in watch:
                    token = seen.token or token
                    if seen.resync:
                        return {"outcome": "resync", "why": watch.lost}
                    if isinstance(seen.event, RowEvent):
                        value = seen.event.value
                        shown = None if value is None else value.hex()
                        events.append([seen.event.key.hex(), shown, seen.revision])
                    if len(events) >= wanted["events"] and token:
                        break
        except TimeoutError:
            return {"outcome": "nothing more", "events": events, "token": token.hex()}
        finally:
            watch.close()
        return {"outcome": "read", "events": events, "token": token.hex()}

    # What it is like inside.

    async def _digest(self, _: bytes) -> Answer:
        """Return the digest of all rows, and the index that it belongs to."""
        digest = self._node.shard.data.digest()
        while not digest.step():
            await asyncio.sleep(0)
        return {
            "outcome": "digest",
            "index": digest.position.index,
            "digest": digest.hexdigest(),
        }

    async def _audit(self, _: bytes) -> Answer:
        shard = self._node.shard
        return {"outcome": "audit", **audit(shard.data, shard.reader(FAMILIES))}

    async def _checkpoint(self, _: bytes) -> Answer:
        """Flush, take a checkpoint and read its manifest, as for a snapshot, and time it all."""
        data, loop = self._node.shard.data, asyncio.get_running_loop()
        stops = LoopStops(loop).start()
        begun = perf_counter()
        await loop.run_in_executor(None, data.flush)
        flushed = perf_counter()
        checkpoint = data.checkpoint()
        linked = perf_counter()
        manifest = await loop.run_in_executor(None, checkpoint.manifest)
        await loop.run_in_executor(None, checkpoint.release)
        stops.stop()
        return {
            "outcome": "taken",
            "bytes": sum(file.size for file in manifest.files),
            "flush_ms": (flushed - begun) * 1e3,
            "checkpoint_ms": (linked - flushed) * 1e3,
            "longest_stop_ms": stops.longest_s * 1e3,
        }

    async def _memory(self, _: bytes) -> Answer:
        """Return what the process takes; of the rows, only what is not the node's block cache."""
        sizes = dict(_process_memory())
        use = self._node.shard.data.memory()
        return {
            "outcome": "memory",
            "rss_bytes": sizes["VmRSS"],
            "peak_rss_bytes": sizes["VmHWM"],
            "cpu_s": process_time(),
            "counts": dict(self._node.shard.data.estimates()),
            **use._asdict(),
        }

    async def _status(self, _: bytes) -> Answer:
        shard, network = self._node.shard, self._node.network
        status = shard.status()
        installed = shard.data.installed
        return {
            "outcome": "status",
            **asdict(status.replica),
            "revision": status.revision,
            "now_ms": status.now_ms,
            "generation": status.generation,
            "log_bytes": status.log_bytes,
            "slots": shard.applier.slots.version,
            "installed": None if installed is None else installed.index,
            "longest_stop_ms": self._node.stops.longest_s * 1e3,
            "me": self._node.me,
            "entry_bytes_sent": shard.replica.entry_bytes_sent,
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


def _answering(
    method: Callable[[bytes], Coroutine[Any, Any, Answer]],
) -> Callable[[bytes, object], Coroutine[Any, Any, bytes]]:
    async def answer(content: bytes, _: object) -> bytes:
        try:
            answered = await method(content)
        except (NotLeaderError, NoLeaderError) as error:
            leader = error.leader.node if error.leader else None
            answered = {"outcome": "not leader", "leader": leader}
        except NotProposedError as error:
            answered = {"outcome": "not proposed", "code": error.code, "why": str(error)}
        except OutcomeUnknownError as error:
            answered = {"outcome": "unknown", "code": error.code, "why": str(error)}
        except UnreadableError as error:
            answered = {"outcome": "ask again", "why": str(error)}
        except EngineError as error:
            answered = {"outcome": "failed", "error": type(error).__name__, "why": str(error)}
        except _REFUSALS as error:
            answered = {"outcome": "refused", "why": str(error)}
        return json.dumps(answered).encode()

    return answer


def _result(outcome: Outcome) -> Answer:
    return {
        "revision": outcome.revision,
        "reply": outcome.reply.hex(),
        "refusal": None if outcome.refusal is None else list(outcome.refusal),
        "forgotten": outcome.forgotten,
    }


def _process_memory() -> Iterator[tuple[str, int]]:
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in ("VmRSS", "VmHWM"):
            yield name, int(value.split()[0]) << 10
