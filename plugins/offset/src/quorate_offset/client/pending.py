"""Pending offsets: marked for commit, and kept until the cluster has answered."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from quorate.client import InvalidError, OutcomeUnknownError, QuorateError, UnavailableError
from quorate.plugin.batches import weighed_parts

from quorate_offset.client.commits import MOST, OUTCOME_UNKNOWN
from quorate_offset.v1.commands_pb2 import CommitMode, GroupCommit, OffsetCommit
from quorate_offset.v1.service_pb2 import CommitOffsetsResponse, OffsetRefusal

#: The longest pause between failed attempts.
_LONGEST_PAUSE_S: Final = 1.0
#: Approximate overhead of a mark in a command, beside its commit and its names.
_HEAD_BYTES: Final = 16

_BEHIND: Final = "BEHIND"
#: Codes that make a retry useless; with any other code it may succeed later.
FINAL: Final = frozenset(
    {
        _BEHIND,
        "FAILED_PRECONDITION",
        "FENCED",
        "INVALID_ARGUMENT",
        "NOT_FOUND",
        "PERMISSION_DENIED",
    }
)

#: Commits offsets of many groups; the response names the refused ones.
CommitMany = Callable[[Sequence[GroupCommit]], Awaitable[CommitOffsetsResponse]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingOffset:
    """An offset to commit."""

    tenant: str
    group: str
    generation: int | None
    commit: OffsetCommit


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedOffset:
    """An offset that was refused for good."""

    pending: PendingOffset
    code: str
    message: str


#: Tenant, group, generation, topic, partition: a mark replaces the one with its key. Generations
#: are separate, so that none commits on behalf of another.
Key = tuple[str, str, int, str, int]

Keyed = tuple[Key, PendingOffset]


def key_of(mark: PendingOffset) -> Key:
    """Return the key of a mark."""
    generation = -1 if mark.generation is None else mark.generation
    return mark.tenant, mark.group, generation, mark.commit.topic, mark.commit.partition


class PendingOffsets:
    """The marks of the groups of one shard."""

    def __init__(
        self,
        commit_many: CommitMany,
        mode: CommitMode,
        refuse: Callable[[RefusedOffset], None],
    ) -> None:
        self._commit_many: Final = commit_many
        self._mode: Final = mode
        self._refuse: Final = refuse
        self._marks: Final[dict[Key, PendingOffset]] = {}
        self._woken: Final = asyncio.Event()
        self._turn: Final = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._marks)

    def put(self, key: Key, mark: PendingOffset) -> None:
        """Store a mark in place of an earlier one."""
        self._marks[key] = mark

    def wake(self) -> None:
        """Commit the pending marks in the background."""
        if self._marks:
            self._woken.set()

    async def flush(self) -> None:
        """Commit the pending marks; unanswered marks are kept, and raise."""
        async with self._turn:
            for part in list(_parts(self._marks)):
                await self._commit(part)

    async def flush_always(self, pause_s: float) -> None:
        """Commit after each `wake`, with growing pauses between failed attempts."""
        pause = pause_s
        while True:
            await self._woken.wait()
            self._woken.clear()
            try:
                await self.flush()
                pause = pause_s
            except QuorateError:
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_S)
                self._woken.set()

    async def _commit(self, part: Sequence[Keyed]) -> None:
        groups = [list(marks) for _, marks in groupby(part, lambda keyed: keyed[0][:3])]
        try:
            response = await self._commit_many(
                [_group_commit(marks, self._mode) for marks in groups]
            )
        except InvalidError as error:
            if len(groups) == 1:
                refusal = OffsetRefusal(code="INVALID_ARGUMENT", message=str(error))
                response = CommitOffsetsResponse(refusals=[refusal])
            else:
                # One invalid group blocks the others.
                half = sum(map(len, groups[: len(groups) // 2]))
                await self._commit(part[:half])
                await self._commit(part[half:])
                return
        self._answered(groups, response)

    def _answered(self, groups: Sequence[Sequence[Keyed]], response: CommitOffsetsResponse) -> None:
        refusals: dict[tuple[int, int], OffsetRefusal] = {}
        for refusal in response.refusals:
            one = refusal.HasField("commit")
            for commit in [refusal.commit] if one else range(len(groups[refusal.group])):
                refusals[refusal.group, commit] = refusal
        unanswered: list[OffsetRefusal] = []
        for group, marks in enumerate(groups):
            for commit, (key, mark) in enumerate(marks):
                found = refusals.get((group, commit))
                if found is not None and found.code not in FINAL:
                    unanswered.append(found)
                    continue
                # A mark behind a larger committed offset is settled.
                if found is not None and found.code != _BEHIND:
                    self._refuse(
                        RefusedOffset(pending=mark, code=found.code, message=found.message)
                    )
                # A later mark may have replaced it.
                if self._marks.get(key) is mark:
                    del self._marks[key]
        if unanswered:
            raise _failure(unanswered)


def _parts(marks: dict[Key, PendingOffset]) -> Iterator[list[Keyed]]:
    """Split marks into the parts of single commands, with the generations of a group in order."""
    groups: dict[tuple[str, str], dict[int, list[Keyed]]] = {}
    for key, mark in marks.items():
        groups.setdefault(key[:2], {}).setdefault(key[2], []).append((key, mark))
    rounds: list[list[Keyed]] = []
    for generations in groups.values():
        for turn, generation in enumerate(sorted(generations)):
            if turn == len(rounds):
                rounds.append([])
            rounds[turn] += generations[generation]
    for keyed in rounds:
        yield from weighed_parts(keyed, _weigh, MOST)


def _weigh(keyed: Keyed) -> tuple[int, int]:
    mark = keyed[1]
    return 1, len(mark.tenant) + len(mark.group) + mark.commit.ByteSize() + _HEAD_BYTES


def _group_commit(marks: Sequence[Keyed], mode: CommitMode) -> GroupCommit:
    first = marks[0][1]
    return GroupCommit(
        tenant=first.tenant,
        group=first.group,
        mode=mode,
        generation=first.generation,
        commits=[mark.commit for _, mark in marks],
    )


def _failure(refusals: Sequence[OffsetRefusal]) -> QuorateError:
    unknown = [each for each in refusals if each.code == OUTCOME_UNKNOWN]
    first = (unknown or refusals)[0]
    error = OutcomeUnknownError if unknown else UnavailableError
    return error(
        f"{len(refusals)} offsets are not committed yet, and are kept for a retry "
        f"({first.code}: {first.message})"
    )
