"""How a limit is divided: where to take room away, and where to give it."""

from collections.abc import Sequence
from typing import NamedTuple

from quorate_mqtt.v1.shares_pb2 import SessionTally


class Division(NamedTuple):
    """New shares, by the place of their tallies: first those that fall, then those that rise."""

    falling: dict[int, int]
    rising: dict[int, int]


def divide(tallies: Sequence[SessionTally]) -> Division:
    """Divide what is free of a limit evenly, if a shard has less than half of its even part.

    All tallies are of one tenant and one limit, one of each shard.
    """
    limit = tallies[0].limit
    sessions = [tally.sessions for tally in tallies]
    free = limit - sum(sessions)
    if free <= 0:
        # What a shard has is the most that it may have.
        wanted = sessions
    else:
        even, more = divmod(free, len(tallies))
        wanted = [held + even + (place < more) for place, held in enumerate(sessions)]
    shares = [tally.share for tally in tallies]
    scarce = any(
        2 * (share - held) < part - held
        for share, held, part in zip(shares, sessions, wanted, strict=True)
    )
    if not scarce and sum(shares) <= limit:
        return Division({}, {})
    pairs = list(enumerate(zip(shares, wanted, strict=True)))
    return Division(
        {place: part for place, (share, part) in pairs if part < share},
        {place: part for place, (share, part) in pairs if part > share},
    )
