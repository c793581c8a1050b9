"""Renews the sessions of a node's clients while they send requests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from quorate.plugin import NodeApi
from quorate.plugin.batches import in_parts

from quorate_zookeeper.v1 import commands_pb2 as pb

_log = logging.getLogger(__name__)

#: A session is renewed at most this often within its timeout.
RENEWALS: Final = 6
#: A client whose session could not be renewed for this part of its timeout is disconnected: at a
#: node with a majority it can keep the session.
PATIENCE: Final = 5 / 6
#: Sessions of one command.
_AT_A_TIME: Final = 1_000


class Life(Protocol):
    """A session that this node keeps alive. Times are the loop's, in seconds."""

    session: int
    timeout_s: float
    #: The time of the last request of its client.
    active_s: float
    #: The last of these times that the shard knows.
    renewed_s: float

    def end(self) -> None:
        """Handle the end of the session."""

    def abort(self) -> None:
        """Disconnect the client."""


async def renew_forever(node: NodeApi, lives: Iterable[Life], tick_s: float) -> None:
    """Renew sessions in each tick, and disconnect clients whose sessions cannot be renewed."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(tick_s)
        now_s = loop.time()
        due = [
            each
            for each in lives
            if each.active_s > each.renewed_s
            and now_s - each.renewed_s >= each.timeout_s / RENEWALS
        ]
        for part in in_parts(due, _AT_A_TIME):
            try:
                async with asyncio.timeout(min(each.timeout_s for each in part) / 2):
                    await _renew(node, part)
            except Exception as error:  # noqa: BLE001 - the next tick retries
                _log.warning("cannot renew %d sessions, retrying: %s", len(part), error)
        now_s = loop.time()
        for each in list(lives):
            waits = each.active_s > each.renewed_s
            if waits and now_s - each.renewed_s > each.timeout_s * PATIENCE:
                each.abort()


async def _renew(node: NodeApi, lives: Sequence[Life]) -> None:
    now_s = asyncio.get_running_loop().time()
    active = [each.active_s for each in lives]
    sessions = [
        pb.Activity(session=each.session, idle_ms=max(0, int((now_s - each.active_s) * 1_000)))
        for each in lives
    ]
    reply = await node.propose(pb.RenewSessions(sessions=sessions), pb.SessionsRenewed)
    ended = set(reply.ended)
    for each, active_s in zip(lives, active, strict=True):
        each.renewed_s = max(each.renewed_s, active_s)
        if each.session in ended:
            each.end()
