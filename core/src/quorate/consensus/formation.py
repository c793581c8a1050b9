"""Makes the initial members of a cluster write the same first entry.

Each node sends the others its identity and whether it is formed. When every initial member has
answered and all are new, a node durably writes the sorted list as the first CONFIG entry, and only
then votes. A node that finds a formed cluster adopts that entry if it is a member; with an empty
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
    """The identity and state that a node sends until it is formed, and in answers."""

    peer: Peer
    #: The initial members that its configuration file names, sorted.
    initial_members: tuple[str, ...]
    #: The payload of its first entry; empty while it is new.
    first_entry: bytes
    #: Opaque bytes of the layers above.
    about: bytes = b""


class FormationRefusedError(Exception):
    """This node cannot join the cluster without an operator; the message says what to do."""


class Formation:
    """One new node that is to form a cluster with others."""

    def __init__(self, me: Peer, initial_members: Sequence[str]) -> None:
        self._me: Final = me
        self._members: Final = tuple(sorted(set(initial_members)))
        self._members_found: Final[dict[str, Peer]] = {me.node: me}
        if me.node not in self._members:
            raise FormationRefusedError(
                f"{me.node} is not among the initial members {', '.join(self._members)}; "
                "add it to a running cluster: `quorate member add`"
            )

    def introduction(self) -> Introduction:
        """Return what this node sends to the others."""
        return Introduction(self._me, self._members, b"")

    def receive(self, other: Introduction) -> Configuration | None:
        """Process another node's introduction; return the first entry when it is known.

        Raises `FormationRefusedError` if the two cannot form a cluster.
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
            self._members_found[other.peer.node] = other.peer
        return self.settled()

    def settled(self) -> Configuration | None:
        """Return the first entry once every initial member has answered."""
        if len(self._members_found) < len(self._members):
            return None
        return Configuration.of(Member(peer) for peer in self._members_found.values())

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
    """Return the id of a cluster."""
    return hashlib.sha256(token.encode() + b"\x00" + first_entry).digest()[:16]
