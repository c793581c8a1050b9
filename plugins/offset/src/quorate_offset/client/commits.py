"""Commits of many groups: cut into commands, and the answers put together again."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from quorate.client import OutcomeUnknownError, RejectedError
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal

from quorate_offset.offsets.validation import MOST_OFFSETS
from quorate_offset.v1 import commands_pb2 as pb, service_pb2 as requests

T = TypeVar("T")

#: The code of what may have been carried out, or refused for a reason that nobody knows.
OUTCOME_UNKNOWN: Final = "OUTCOME_UNKNOWN"
_FORGOTTEN: Final = "it was carried out, and its shard no longer keeps the answer"

#: The most that one command holds, beside the most offsets.
_MOST_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Piece:
    """What of the commits of one group goes into one command."""

    #: Which of the groups it is.
    group: int
    #: Which of the group's commits is the first one here; None: these are all of them.
    first: int | None
    commit: pb.GroupCommit


def runs(items: Iterable[T], weigh: Callable[[T], tuple[int, int]]) -> Iterator[list[T]]:
    """Yield runs of items that fit into a command; `weigh` tells an item's offsets and bytes."""
    run: list[T] = []
    offsets = size = 0
    for item in items:
        more, larger = weigh(item)
        offsets, size = offsets + more, size + larger
        if run and (offsets > MOST_OFFSETS or size > _MOST_BYTES):
            yield run
            run, offsets, size = [], more, larger
        run.append(item)
    if run:
        yield run


def cut(groups: Iterable[pb.GroupCommit]) -> list[Piece]:
    """Cut groups that are too large for a command."""
    pieces: list[Piece] = []
    for position, group in enumerate(groups):
        if len(group.commits) <= MOST_OFFSETS and group.ByteSize() <= _MOST_BYTES:
            pieces.append(Piece(position, None, group))
            continue
        first = 0
        for commits in runs(group.commits, lambda commit: (1, commit.ByteSize())):
            part = pb.GroupCommit(
                tenant=group.tenant, group=group.group, commits=commits, mode=group.mode
            )
            if group.HasField("generation"):
                part.generation = group.generation
            pieces.append(Piece(position, first, part))
            first += len(commits)
    return pieces


def commands(pieces: Iterable[Piece]) -> list[requests.CommitOffsetsRequest]:
    """Return the commands of the pieces, in their order."""

    def weigh(piece: Piece) -> tuple[int, int]:
        return len(piece.commit.commits), piece.commit.ByteSize()

    return [
        requests.CommitOffsetsRequest(groups=[piece.commit for piece in run])
        for run in runs(pieces, weigh)
    ]


def refusals_of(reply: BatchReply) -> list[ItemRefusal]:
    """Return why items were not carried out, and which of them nobody knows that of."""
    forgotten = [
        ItemRefusal(item=item, code=OUTCOME_UNKNOWN, message=_FORGOTTEN) for item in reply.forgotten
    ]
    return sorted([*reply.refusals, *forgotten], key=lambda refusal: refusal.item)


def raise_first(refusals: Iterable[ItemRefusal | requests.OffsetRefusal]) -> None:
    """Raise the refusal of the only item of a batch."""
    for refusal in refusals:
        if refusal.code == OUTCOME_UNKNOWN:
            raise OutcomeUnknownError(refusal.message)
        raise RejectedError(refusal.code, refusal.message)


def answer(pieces: Sequence[Piece], reply: BatchReply) -> requests.CommitOffsetsResponse:
    """Return what happened to each offset, by the positions of the groups that were cut."""
    response = requests.CommitOffsetsResponse(revisions=reply.revisions)
    refused = {refusal.item: refusal for refusal in refusals_of(reply)}
    for item, piece in enumerate(pieces):
        refusal = refused.get(item)
        if refusal is None:
            if reply.replies and reply.replies[item]:
                for each in pb.GroupCommitReply.FromString(reply.replies[item]).refusals:
                    response.refusals.add(
                        group=piece.group,
                        commit=each.commit + (piece.first or 0),
                        code=each.code,
                        message=each.message,
                    )
        elif piece.first is None:
            response.refusals.add(group=piece.group, code=refusal.code, message=refusal.message)
        else:
            for commit in range(piece.first, piece.first + len(piece.commit.commits)):
                response.refusals.add(
                    group=piece.group, commit=commit, code=refusal.code, message=refusal.message
                )
    return response
