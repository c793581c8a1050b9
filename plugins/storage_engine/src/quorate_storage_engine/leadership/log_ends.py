"""Asks engines where their logs end, and decides what an answer is worth."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import grpc
from quorate.plugin import Stub
from quorate.plugin.batches import in_parts

from quorate_storage_engine.v1 import storage_node_pb2
from quorate_storage_engine.v1.queries_pb2 import Candidate, RecoverableSegment, SegmentId
from quorate_storage_engine.v1.rows_pb2 import Segment
from quorate_storage_engine.v1.storage_node_pb2 import LogEnd, LogEndRequest, LogEndResponse

_log = logging.getLogger(__name__)

#: Segments that an engine is asked for in one call.
_AT_A_TIME: Final = 1_000


#: Asks the StorageNode at an address; raises `OSError`, `TimeoutError` or `grpc.RpcError`.
AskLogEnd = Callable[[str, LogEndRequest, float], Awaitable[LogEndResponse]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Where the log of one candidate ends."""

    candidate: Candidate
    log_end: LogEnd


async def ask_over_grpc(address: str, request: LogEndRequest, timeout_s: float) -> LogEndResponse:
    """Ask over a connection of its own: elections are rare, and engines that fail are gone."""
    async with grpc.aio.insecure_channel(address) as channel:
        stub = Stub(channel, storage_node_pb2.DESCRIPTOR.services_by_name["StorageNodeService"])
        response: LogEndResponse = await stub.LogEnd(request, timeout=timeout_s)
        return response


async def ask_candidates(
    found: Sequence[RecoverableSegment], ask: AskLogEnd, timeout_s: float
) -> dict[tuple[str, int], list[Answer]]:
    """Ask every candidate for all segments it may lead, and return what is credible by segment.

    Who does not answer in time, or answers for somebody else, is passed over.
    """
    segments = {(each.segment.shard, each.segment.number): each.segment for each in found}
    asked: dict[str, tuple[Candidate, list[Segment]]] = {}
    for each in found:
        for candidate in each.candidates:
            asked.setdefault(candidate.engine, (candidate, []))[1].append(each.segment)
    gathered = await asyncio.gather(
        *(_ask(candidate, held, ask, timeout_s) for candidate, held in asked.values())
    )
    answers: dict[tuple[str, int], list[Answer]] = {}
    for answer in (answer for of_one in gathered for answer in of_one):
        segment_id = (answer.log_end.segment.shard, answer.log_end.segment.segment)
        if segment_id in segments and is_credible(answer.log_end, segments[segment_id]):
            answers.setdefault(segment_id, []).append(answer)
    return answers


def is_credible(log_end: LogEnd, segment: Segment) -> bool:
    """Return whether a log can be one of the segment's: nobody led it under a later epoch."""
    return (
        log_end.shard_uid == segment.shard_uid
        and log_end.leader_epoch <= segment.leader_epoch
        and segment.start_offset <= log_end.log_start <= log_end.offset
        and (not segment.HasField("end_offset") or log_end.offset >= segment.end_offset)
    )


def best(segment: Segment, answers: Iterable[Answer]) -> Answer | None:
    """Return the answer of the log that knows most: the latest epoch, then the furthest end.

    Among equals the one that stands first among the last known in-sync replicas.
    """
    order = list(segment.last_known_isr)
    known = [answer for answer in answers if answer.candidate.engine in order]
    return max(
        known,
        key=lambda answer: (
            answer.log_end.leader_epoch,
            answer.log_end.offset,
            -order.index(answer.candidate.engine),
        ),
        default=None,
    )


async def _ask(
    candidate: Candidate, segments: Sequence[Segment], ask: AskLogEnd, timeout_s: float
) -> list[Answer]:
    if not candidate.address:
        _log.warning(
            "engine %s is registered without the address `storage`; it cannot be asked where its "
            "logs end, and %d segments wait for it",
            candidate.engine,
            len(segments),
        )
        return []
    answers: list[Answer] = []
    for chunk in in_parts(segments, _AT_A_TIME):
        wanted = {(each.shard, each.number) for each in chunk}
        request = LogEndRequest(
            segments=[SegmentId(shard=each.shard, segment=each.number) for each in chunk]
        )
        try:
            async with asyncio.timeout(timeout_s):
                response = await ask(candidate.address, request, timeout_s)
        except (OSError, grpc.RpcError) as error:
            _log.warning(
                "engine %s at %s does not tell where its logs end: %s: %s",
                candidate.engine,
                candidate.address,
                type(error).__name__,
                error,
            )
            break
        if (response.engine, response.broker_epoch) != (candidate.engine, candidate.broker_epoch):
            _log.warning(
                "at %s answers engine %s of epoch %d, and %s of epoch %d is registered there",
                candidate.address,
                response.engine,
                response.broker_epoch,
                candidate.engine,
                candidate.broker_epoch,
            )
            break
        for log_end in response.log_ends:
            if (log_end.segment.shard, log_end.segment.segment) in wanted:
                answers.append(Answer(candidate=candidate, log_end=log_end))
    return answers
