"""Asks engines for the ends of their logs, and judges the answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import grpc
from quorate.plugin.advanced import Stub
from quorate.plugin.batches import in_parts

from quorate_storage_engine.v1 import storage_node_pb2
from quorate_storage_engine.v1.queries_pb2 import Candidate, RecoverableSegment, SegmentId
from quorate_storage_engine.v1.rows_pb2 import Segment
from quorate_storage_engine.v1.storage_node_pb2 import LogEnd, LogEndRequest, LogEndResponse

_log = logging.getLogger(__name__)

#: Maximum number of segments in one call to an engine.
_AT_A_TIME: Final = 1_000


#: Asks the StorageNode at an address; raises `OSError`, `TimeoutError` or `grpc.RpcError`.
AskLogEnd = Callable[[str, LogEndRequest, float], Awaitable[LogEndResponse]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The end of the log of one candidate."""

    candidate: Candidate
    log_end: LogEnd


async def ask_over_grpc(address: str, request: LogEndRequest, timeout_s: float) -> LogEndResponse:
    """Ask over a new connection: elections are rare, and engines that fail are gone."""
    async with grpc.aio.insecure_channel(address) as channel:
        stub = Stub(channel, storage_node_pb2.DESCRIPTOR.services_by_name["StorageNodeService"])
        response: LogEndResponse = await stub.LogEnd(request, timeout=timeout_s)
        return response


async def ask_candidates(
    found: Sequence[RecoverableSegment], ask: AskLogEnd, timeout_s: float
) -> dict[tuple[str, int], list[Answer]]:
    """Ask each candidate for all segments it may lead, and return the credible answers by segment.

    A candidate that does not answer in time, or answers for another engine, is skipped.
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
    """Return whether a log can belong to the segment: no later leader epoch, offsets that fit."""
    return (
        log_end.shard_uid == segment.shard_uid
        and log_end.leader_epoch <= segment.leader_epoch
        and segment.start_offset <= log_end.log_start <= log_end.offset
        and (not segment.HasField("end_offset") or log_end.offset >= segment.end_offset)
    )


def best(segment: Segment, answers: Iterable[Answer]) -> Answer | None:
    """Return the answer of the most complete log: the latest epoch, then the furthest end.

    Ties go to the replica that comes first among the last known in-sync replicas.
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
            "engine %s is registered without the address `storage`: it cannot be asked for its log "
            "ends, and %d segments wait for it",
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
                "engine %s at %s did not report its log ends: %s: %s",
                candidate.engine,
                candidate.address,
                type(error).__name__,
                error,
            )
            break
        if (response.engine, response.broker_epoch) != (candidate.engine, candidate.broker_epoch):
            _log.warning(
                "%s is answered by engine %s of epoch %d, but %s of epoch %d is registered there",
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
