"""Proofs that two nodes share a token, which tell nobody how to repeat them.

A node proves the token by a keyed hash over a challenge that the other end has drawn, and over the
names of both. Nodes before core's level 4 send the hash of the token instead, which is always the
same: who has read it once passes as a node. It is taken and sent until that level is in force.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import deque
from collections.abc import Callable
from typing import Final, Literal

from quorate.consensus.messages import Peer

#: What is proved: so that a proof of one kind is none of another.
Purpose = Literal["call", "introduction", "introduced", "connection", "connected"]

_BYTES: Final = 32
#: Challenges that a node was given for connections which it has not made yet: one a lane, and some
#: of attempts that failed.
_OUTSTANDING: Final = 16


class TokenProofs:
    """Makes and checks proofs; `takes_hash` returns whether a hash of the token is one as well."""

    def __init__(self, token: str, takes_hash: Callable[[], bool]) -> None:
        self._hash: Final = token_hash(token)
        self._key: Final = hashlib.sha256(b"quorate challenge\x00" + token.encode()).digest()
        self._takes_hash: Final = takes_hash
        #: Makes the challenges of connections, which need not be remembered.
        self._secret: Final = secrets.token_bytes(_BYTES)
        self._given: Final[dict[str, deque[bytes]]] = {}

    def of_connection(self, peer: str) -> bytes:
        """Return the challenge of a gRPC connection, by the address of its other end."""
        return hmac.digest(self._secret, peer.encode(), "sha256")

    def draw(self) -> bytes:
        """Return a challenge that was never used."""
        return secrets.token_bytes(_BYTES)

    def give(self, node: str) -> bytes:
        """Return a challenge for one connection of a node that has proved itself."""
        given = self._given.setdefault(node, deque(maxlen=_OUTSTANDING))
        given.append(self.draw())
        return given[-1]

    def spend(self, node: str, target: str, peer: Peer, shown: bytes) -> bytes | None:
        """Return the challenge that a node was given and proves; no other connection can use it."""
        given = self._given.get(node, ())
        for challenge in given:
            if hmac.compare_digest(shown, self.make("connection", challenge, peer, target)):
                self._given[node].remove(challenge)
                return challenge
        return None

    def make(self, purpose: Purpose, challenge: bytes, peer: Peer, target: str = "") -> bytes:
        """Return the proof of a peer; without a challenge the hash, or nothing once it is over."""
        if not challenge:
            return self._hash if self._takes_hash() else b""
        names = (purpose.encode(), challenge, peer.node.encode(), target.encode())
        said = b"".join(len(each).to_bytes(4, "big") + each for each in names)
        return hmac.digest(self._key, said + peer.replica.to_bytes(8, "big"), "sha256")

    def is_hash(self, shown: bytes) -> bool:
        """Return whether the hash of the token is shown, while that is a proof."""
        return self._takes_hash() and hmac.compare_digest(shown, self._hash)

    def proves(
        self, shown: bytes, purpose: Purpose, challenge: bytes, peer: Peer, target: str = ""
    ) -> bool:
        """Return whether a proof is that of a peer over a challenge."""
        if challenge and hmac.compare_digest(shown, self.make(purpose, challenge, peer, target)):
            return True
        return self.is_hash(shown)


def token_hash(token: str) -> bytes:
    """Return the hash by which nodes before core's level 4 prove that they share a token."""
    return hashlib.sha256(b"quorate token\x00" + token.encode()).digest()
