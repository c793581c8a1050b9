"""How the initial members of a cluster come to write the same first entry.

Each node tells the others who it is and whether it is formed. A node that has heard every initial
member, all of them new, writes the sorted list as the first CONFIG entry, durably, and only then
votes. A node that hears of a formed cluster takes over that entry if it is in it; with an emptied
disk it is not, and never votes.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer


@dataclass(frozen=True, slots=True)
class Introduction:
    """What a node says of itself until it is formed, and answers when asked."""

    peer: Peer
    #: The initial members that its configuration file names, sorted.
    initial_members: tuple[str, ...]
    #: The payload of its first entry; empty while it is new.
    first_entry: bytes
    #: What the floors above have to say beside it; consensus only passes it on.
    about: bytes = b""


class FormationRefusedError(Exception):
    """This node cannot become part of the cluster by itself; the message says what to do."""


class Formation:
    """One new node that is to form a cluster with others."""

    def __init__(self, me: Peer, initial_members: Sequence[str]) -> None:
        self._me: Final = me
        self._members: Final = tuple(sorted(set(initial_members)))
        self._heard: Final[dict[str, Peer]] = {me.node: me}
        if me.node not in self._members:
            raise FormationRefusedError(
                f"{me.node} is not among the initial members {', '.join(self._members)}; "
                "add it to a running cluster: `quorate member add`"
            )

    def introduction(self) -> Introduction:
        """Return what to tell the others."""
        return Introduction(self._me, self._members, b"")

    def heard(self, other: Introduction) -> Configuration | None:
        """Take what another node said; return the first entry once it is settled.

        Raises `FormationRefusedError` when this node cannot form a cluster with that one.
        """
        if other.peer.node == self._me.node and other.peer != self._me:
            raise FormationRefusedError(
                f"another directory calls itself {self._me.node} too; give each node its own name"
            )
        if other.first_entry:
            return self._join(other)
        if other.initial_members != self._members:
            raise FormationRefusedError(
                f"{other.peer.node} names the initial members {', '.join(other.initial_members)}, "
                f"and {self._me.node} names {', '.join(self._members)}; make the files equal"
            )
        if other.peer.node in self._members:
            self._heard[other.peer.node] = other.peer
        return self.settled()

    def settled(self) -> Configuration | None:
        """Return the first entry when every initial member was heard of."""
        if len(self._heard) < len(self._members):
            return None
        return Configuration.of(Member(peer) for peer in self._heard.values())

    def _join(self, other: Introduction) -> Configuration:
        formed = Configuration.decode(other.first_entry)
        if self._me not in formed.voters:
            raise FormationRefusedError(
                f"the cluster of {other.peer.node} is formed, and this directory of "
                f"{self._me.node} is new to it; give it `[cluster] join` in the place of "
                "`initial_members`, start it, and `quorate member replace` takes it in again"
            )
        return formed


def cluster_id(token: str, first_entry: bytes) -> bytes:
    """Return the name under which the members of one cluster know each other."""
    return hashlib.sha256(token.encode() + b"\x00" + first_entry).digest()[:16]
