"""Proposes commands to a shard that is led here, in their order and in few entries."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from google.protobuf.message import Message

from quorate.apply.entries import Copies, LoggedCommand, of_shard
from quorate.apply.outcomes import COPY_BEHIND, Outcome
from quorate.plugin import Invalid, Rejected
from quorate.shards.refusals import ExhaustedError, settled
from quorate.shards.shard.shard import Shard

#: The outcome of a command, or an exception if there is none.
Result = Outcome | Exception

#: The coming outcomes of a number of commands, or why there are none.
_Begun = tuple[asyncio.Future[tuple[Outcome, ...]] | Exception, int]

#: Maximum wait of a leader for the copies that a refusal depends on.
CATCH_UP_S: Final = 2.0
#: Approximate bytes of commands per entry, which is applied in one turn of the loop.
ENTRY_BYTES: Final = 256 << 10


async def propose_in_order(
    shard: Shard,
    commands: Sequence[LoggedCommand],
    deadlines: Sequence[float],
    clock: Callable[[], float],
    term: int | None = None,
) -> list[Result]:
    """Propose commands, each with its deadline on a clock, and return their results.

    A refused command does not affect the others. But once the shard has no capacity for a command,
    those after it are not proposed: they must not overtake it.

    A command that would be refused because of a stale copy of a mirrored family is proposed again,
    with all after it, once the copy has caught up.
    """
    now = clock()
    results: list[Result]
    if len(commands) == 1:
        try:
            results = [*await shard.propose(commands, term=term, timeout_s=deadlines[0] - now)]
        except Exception as error:  # noqa: BLE001 - it takes the place of the answer
            results = [settled(error)]
    else:
        begun = [
            each
            for deadline, run in _runs(commands, deadlines)
            for each in _offer(shard, run, deadline - now, term)
        ]
        results = await _ended(begun)
    if not results or not _is_behind(results[-1]):
        return results
    first = next(place for place, each in enumerate(results) if _is_behind(each))
    if not all(map(_is_behind, results[first:])):
        # Later commands were carried out: the sender decides whether to retry this one.
        return results
    copies = await _caught_up(shard, min(deadlines[first:]) - now)
    again = [command._replace(copies=copies) for command in commands[first:]]
    return results[:first] + await propose_in_order(shard, again, deadlines[first:], clock, term)


async def propose_step(shard: Shard, command: Message, *, term: int, timeout_s: float) -> Outcome:
    """Have a shard carry out a command of its own; raises `Rejected` when it refuses."""
    (outcome,) = await shard.propose([of_shard(command)], term=term, timeout_s=timeout_s)
    if outcome.refusal is not None:
        raise Rejected(outcome.refusal.code, outcome.refusal.message)
    return outcome


async def _caught_up(shard: Shard, timeout_s: float) -> Copies:
    fresh = await shard.catch_up(min(CATCH_UP_S, timeout_s / 2))
    return Copies.FRESH if fresh else Copies.UNKNOWN


def _is_behind(result: Result) -> bool:
    return (
        isinstance(result, Outcome)
        and result.refusal is not None
        and result.refusal.code == COPY_BEHIND
    )


def _runs(
    commands: Sequence[LoggedCommand], deadlines: Sequence[float]
) -> Iterator[tuple[float, list[LoggedCommand]]]:
    """Split where the deadline changes, and where an entry is full."""
    run: list[LoggedCommand] = []
    size, current = 0, deadlines[0] if deadlines else 0.0
    for command, deadline in zip(commands, deadlines, strict=True):
        size += len(command.payload)
        if run and (size > ENTRY_BYTES or deadline != current):
            yield current, run
            run, size = [], len(command.payload)
        run.append(command)
        current = deadline
    if run:
        yield current, run


def _offer(
    shard: Shard, run: Sequence[LoggedCommand], timeout_s: float, term: int | None
) -> list[_Begun]:
    """Propose commands to a shard, in smaller parts if it refuses them all at once."""
    begun: list[_Begun] = []
    place, most = 0, len(run)
    while place < len(run):
        part = run[place : place + most]
        count = len(part)
        try:
            begun.append((shard.propose(part, term=term, timeout_s=timeout_s), count))
        except Exception as error:  # noqa: BLE001 - writes in flight are still awaited
            divisible = isinstance(error, ExhaustedError | Invalid)
            if divisible and count > 1:
                most = (count + 1) // 2
                continue
            if not isinstance(error, Invalid):
                begun.append((settled(error), len(run) - place))
                break
            begun.append((settled(error), 1))
            most = len(run)
        place += count
    return begun


async def _ended(begun: Sequence[_Begun]) -> list[Result]:
    """Return the result of each command, once all have one."""
    if len(begun) == 1:
        [(future, count)] = begun
        try:
            return [*await future] if isinstance(future, asyncio.Future) else [future] * count
        except Exception as error:  # noqa: BLE001 - it takes the place of the answer
            return [settled(error)] * count
    futures = [future for future, _ in begun if isinstance(future, asyncio.Future)]
    answers = iter(await asyncio.gather(*futures, return_exceptions=True))
    results: list[Result] = []
    for future, count in begun:
        answer = next(answers) if isinstance(future, asyncio.Future) else future
        if isinstance(answer, Exception):
            results += [answer] * count
        elif isinstance(answer, BaseException):
            raise answer
        else:
            results += answer
    return results
