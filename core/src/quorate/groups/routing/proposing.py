"""Proposes commands to a shard that is led here, in their order and in few entries."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from google.protobuf.message import Message

from quorate.apply.entries import Copies, LoggedCommand, of_shard
from quorate.apply.outcomes import COPY_BEHIND, Outcome
from quorate.groups.refusals import ExhaustedError, settled
from quorate.groups.shard.shard import Shard
from quorate.plugin import Invalid, Rejected

#: The outcome of a command, or an exception if there is none.
Result = Outcome | Exception

#: Maximum wait of a leader for the copies that a refusal depends on.
CATCH_UP_S: Final = 2.0
#: Approximate bytes of commands per entry, which is applied in one turn of the loop.
ENTRY_BYTES: Final = 256 << 10


class Timed(NamedTuple):
    """A command and its timeout."""

    command: LoggedCommand
    timeout_s: float


class _Begun(NamedTuple):
    """The results of a number of commands."""

    ended: "asyncio.Future[tuple[Outcome, ...]] | Exception"
    commands: int


async def propose_in_order(
    shard: Shard, commands: Sequence[Timed], term: int | None = None
) -> list[Result]:
    """Propose commands, and return their results.

    A refused command does not affect the others. But once the shard has no capacity for a command,
    those after it are not proposed: they must not overtake it.

    A command that would be refused because of a stale copy of a mirrored family is proposed again,
    with all after it, once the copy has caught up.
    """
    began = asyncio.get_running_loop().time()
    results = await (_one if len(commands) == 1 else _several)(shard, commands, term)
    if not results or not _is_behind(results[-1]):
        return results
    first = next(place for place, each in enumerate(results) if _is_behind(each))
    if not all(map(_is_behind, results[first:])):
        # Later commands were carried out: the sender decides whether to retry this one.
        return results
    copies = await _caught_up(shard, min(each.timeout_s for each in commands[first:]))
    spent_s = asyncio.get_running_loop().time() - began
    again = [
        Timed(command._replace(copies=copies), timeout_s - spent_s)
        for command, timeout_s in commands[first:]
    ]
    return results[:first] + await propose_in_order(shard, again, term)


async def propose_step(shard: Shard, command: Message, *, term: int, timeout_s: float) -> Outcome:
    """Have a shard carry out a command of its own; raises `Rejected` when it refuses."""
    (outcome,) = await shard.propose([of_shard(command)], term=term, timeout_s=timeout_s)
    if outcome.refusal is not None:
        raise Rejected(outcome.refusal.code, outcome.refusal.message)
    return outcome


async def _one(shard: Shard, commands: Sequence[Timed], term: int | None) -> list[Result]:
    [(command, timeout_s)] = commands
    try:
        return [*await shard.propose([command], term=term, timeout_s=timeout_s)]
    except Exception as error:  # noqa: BLE001 - it takes the place of the answer
        return [settled(error)]


async def _several(shard: Shard, commands: Sequence[Timed], term: int | None) -> list[Result]:
    begun = [
        part for timeout_s, run in _runs(commands) for part in _offer(shard, run, timeout_s, term)
    ]
    futures = [part.ended for part in begun if not isinstance(part.ended, Exception)]
    answers = iter(await _all(futures))
    results: list[Result] = []
    for part in begun:
        answer = part.ended if isinstance(part.ended, Exception) else next(answers)
        if isinstance(answer, Exception):
            results += [answer] * part.commands
        else:
            results += answer
    return results


async def _caught_up(shard: Shard, timeout_s: float) -> Copies:
    fresh = await shard.catch_up(min(CATCH_UP_S, timeout_s / 2))
    return Copies.FRESH if fresh else Copies.UNKNOWN


def _is_behind(result: Result) -> bool:
    return (
        isinstance(result, Outcome)
        and result.refusal is not None
        and result.refusal.code == COPY_BEHIND
    )


def _runs(commands: Sequence[Timed]) -> Iterator[tuple[float, list[LoggedCommand]]]:
    """Split where the timeout changes, and where an entry is full."""
    for timeout_s, timed in groupby(commands, key=lambda each: each.timeout_s):
        run: list[LoggedCommand] = []
        size = 0
        for command, _ in timed:
            size += len(command.payload)
            if run and size > ENTRY_BYTES:
                yield timeout_s, run
                run, size = [], len(command.payload)
            run.append(command)
        yield timeout_s, run


def _offer(
    shard: Shard, run: Sequence[LoggedCommand], timeout_s: float, term: int | None
) -> list[_Begun]:
    """Propose commands to a shard, in smaller parts if it refuses them all at once."""
    begun: list[_Begun] = []
    place, most = 0, len(run)
    while place < len(run):
        part = run[place : place + most]
        try:
            begun.append(_Begun(shard.propose(part, term=term, timeout_s=timeout_s), len(part)))
        except (ExhaustedError, Invalid) as error:
            if len(part) > 1:
                most = (len(part) + 1) // 2
                continue
            if isinstance(error, ExhaustedError):
                begun.append(_Begun(settled(error), len(run) - place))
                break
            begun.append(_Begun(settled(error), 1))
            most = len(run)
        except Exception as error:  # noqa: BLE001 - writes in flight are still awaited
            begun.append(_Begun(settled(error), len(run) - place))
            break
        place += len(part)
    return begun


async def _all(
    futures: Sequence["asyncio.Future[tuple[Outcome, ...]]"],
) -> Sequence[tuple[Outcome, ...] | Exception]:
    if not futures:
        return ()
    if len(futures) == 1:
        try:
            return (await futures[0],)
        except Exception as error:  # noqa: BLE001 - it takes the place of the answer
            return (settled(error),)
    ended: list[tuple[Outcome, ...] | Exception] = []
    for answer in await asyncio.gather(*futures, return_exceptions=True):
        if isinstance(answer, BaseException) and not isinstance(answer, Exception):
            raise answer
        ended.append(answer)
    return ended
