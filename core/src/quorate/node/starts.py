"""The starts of a node, counted in its directory, and the last ones of the nodes that it has met.

A directory restored from an older copy of itself counts from an older number. Only other nodes know
its later acknowledgements and votes, and they remember the later start.
"""

import json
import secrets
from pathlib import Path
from typing import Final

from quorate.consensus.messages import Peer
from quorate.consensus.peer.wire import Start
from quorate.storage import durably

_FILE: Final = "starts.json"
_MARK_BITS: Final = 64


class Starts:
    """The file of starts in a node's directory; it is durable before a caller goes on."""

    def __init__(self, directory: Path) -> None:
        self._file: Final = directory / _FILE
        #: This start of the node, or the last one before `begin`.
        self.own = Start()
        self._met: Final[dict[str, tuple[int, Start]]] = {}
        self._read()

    def begin(self) -> None:
        """Count a new start, durably."""
        self.own = Start(self.own.number + 1, secrets.randbits(_MARK_BITS))
        self._write()

    def is_newest(self, peer: Peer, start: Start) -> bool:
        """Remember a start of another node; False: a later one of the same replica is known.

        A node of a release without counted starts has nothing to remember.
        """
        if not start.number:
            return True
        replica, known = self._met.get(peer.node, (peer.replica, Start()))
        if (replica, known) == (peer.replica, start):
            return True
        if replica == peer.replica and start.number <= known.number:
            return False
        self._met[peer.node] = peer.replica, start
        self._write()
        return True

    def _read(self) -> None:
        try:
            kept = json.loads(self._file.read_bytes())
            own = Start(*map(int, kept["own"]))
            met = {
                str(node): (int(replica), Start(int(number), int(mark)))
                for node, (replica, number, mark) in kept["met"].items()
            }
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            # A node that counts from zero again is treated as an older copy, and rebuilt.
            return
        self.own = own
        self._met.update(met)

    def _write(self) -> None:
        met = {node: [replica, *start] for node, (replica, start) in self._met.items()}
        durably.replace(self._file, json.dumps({"own": self.own, "met": met}).encode())
