"""A StorageNode as it should be, and one that does everything wrong that an engine can do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

import grpc
from quorate.plugin.advanced import generic_handler
from quorate_storage_engine.v1 import storage_node_pb2
from quorate_storage_engine.v1.queries_pb2 import SegmentId
from quorate_storage_engine.v1.storage_node_pb2 import LogEnd, LogEndRequest, LogEndResponse

Fault = Literal[
    "hangs",
    "fails",
    "another engine",
    "another process",
    "other segments",
    "a later epoch",
    "short",
]


@dataclass(slots=True, kw_only=True)
class ReplicaLog:
    """How far a replica reaches on disk."""

    shard_uid: int
    offset: int = 0
    leader_epoch: int = 1
    log_start: int = 0


@dataclass(kw_only=True)
class ReferenceStorageNode:
    """Answers for the replicas that an engine holds, and for no others."""

    engine: str
    broker_epoch: int
    logs: dict[tuple[str, int], ReplicaLog] = field(default_factory=dict)

    async def LogEnd(self, request: LogEndRequest, context: object) -> LogEndResponse:
        """Tell where the logs end that are held."""
        return self.answer(request)

    def answer(self, request: LogEndRequest) -> LogEndResponse:
        """Return what is known of the segments that are asked for."""
        response = LogEndResponse(engine=self.engine, broker_epoch=self.broker_epoch)
        for wanted in request.segments:
            log = self.logs.get((wanted.shard, wanted.segment))
            if log is not None:
                response.log_ends.append(
                    LogEnd(
                        segment=wanted,
                        shard_uid=log.shard_uid,
                        offset=log.offset,
                        leader_epoch=log.leader_epoch,
                        log_start=log.log_start,
                    )
                )
        return response


@dataclass(kw_only=True)
class MisbehavingStorageNode(ReferenceStorageNode):
    """Has one fault, which no election may be led astray by."""

    fault: Fault

    async def LogEnd(self, request: LogEndRequest, context: object) -> LogEndResponse:
        """Answer wrongly, or not at all."""
        if self.fault == "hangs":
            await asyncio.Event().wait()
        if self.fault == "fails":
            raise OSError("the disk does not answer")
        response = self.answer(request)
        if self.fault == "another engine":
            response.engine = f"not-{self.engine}"
        if self.fault == "another process":
            response.broker_epoch += 1
        for log_end in response.log_ends:
            if self.fault == "other segments":
                log_end.segment.CopyFrom(SegmentId(shard="another", segment=1))
            if self.fault == "a later epoch":
                log_end.leader_epoch += 1_000
            if self.fault == "short":
                log_end.log_start = log_end.offset + 1
        return response


@asynccontextmanager
async def served(node: ReferenceStorageNode) -> AsyncIterator[str]:
    """Serve a StorageNode on the loopback, and give the address."""
    server = grpc.aio.server()
    service = storage_node_pb2.DESCRIPTOR.services_by_name["StorageNodeService"]
    server.add_generic_rpc_handlers([generic_handler(service, node)])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)
