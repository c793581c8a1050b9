"""Commits of many groups: splits them into commands, and merges the answers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from quorate.client import InvalidError, OutcomeUnknownError, RejectedError
from quorate.plugin.batches import weighed_parts
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal

from quorate_offset.names import name_fault
from quorate_offset.offsets.validation import MOST_OFFSETS
from quorate_offset.v1 import commands_pb2 as pb, service_pb2 as requests

#: The code of an item that may have been applied, or was refused for an unknown reason.
OUTCOME_UNKNOWN: Final = "OUTCOME_UNKNOWN"
_FORGOTTEN: Final = "it was executed, and its shard no longer keeps the answer"

_MOST_BYTES: Final = 1 << 20
#: The most offsets and bytes that one command holds.
MOST: Final = (MOST_OFFSETS, _MOST_BYTES)


@dataclass(frozen=True, slots=True)
class Piece:
    """The commits of one group in one command."""

    #: The position of the group.
    group: int
    #: The position of the first commit within its group; None if the piece is the whole group.
    first: int | None
    commit: pb.GroupCommit


def cut(groups: Iterable[pb.GroupCommit]) -> list[Piece]:
    """Split groups that are too large for a command."""
    pieces: list[Piece] = []
    for position, group in enumerate(groups):
        if len(group.commits) <= MOST_OFFSETS and group.ByteSize() <= _MOST_BYTES:
            pieces.append(Piece(position, None, group))
            continue
        first = 0
        for commits in weighed_parts(group.commits, lambda one: (1, one.ByteSize()), MOST):
            part = pb.GroupCommit(
                tenant=group.tenant, group=group.group, commits=commits, mode=group.mode
            )
            if group.HasField("generation"):
                part.generation = group.generation
            pieces.append(Piece(position, first, part))
            first += len(commits)
    return pieces


def commands(pieces: Iterable[Piece]) -> list[requests.CommitOffsetsRequest]:
    """Return the commands of the pieces, in order."""

    def weigh(piece: Piece) -> tuple[int, int]:
        return len(piece.commit.commits), piece.commit.ByteSize()

    return [
        requests.CommitOffsetsRequest(groups=[piece.commit for piece in run])
        for run in weighed_parts(pieces, weigh, MOST)
    ]


def refusals_of(reply: BatchReply) -> list[ItemRefusal]:
    """Return the refusals of items, including items with an unknown outcome."""
    forgotten = [
        ItemRefusal(item=item, code=OUTCOME_UNKNOWN, message=_FORGOTTEN) for item in reply.forgotten
    ]
    return sorted([*reply.refusals, *forgotten], key=lambda refusal: refusal.item)


def check_names(**names: str) -> None:
    """Refuse invalid names of tenants, groups and topics before anything is sent."""
    for field, name in names.items():
        if fault := name_fault(name):
            raise InvalidError(field, fault)


def raise_first(refusals: Iterable[ItemRefusal | requests.OffsetRefusal]) -> None:
    """Raise the first refusal as an error, if there is any."""
    for refusal in refusals:
        if refusal.code == OUTCOME_UNKNOWN:
            raise OutcomeUnknownError(refusal.message)
        raise RejectedError(refusal.code, refusal.message)


def answer(pieces: Sequence[Piece], reply: BatchReply) -> requests.CommitOffsetsResponse:
    """Merge the replies to pieces into one response, by the positions of the original groups."""
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
    response.refusals.sort(key=lambda refusal: (refusal.group, refusal.commit))
    return response
