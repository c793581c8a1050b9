"""How a replica says no to its driver."""

from typing import Final

from quorate.consensus.messages import Peer


class RefusedError(Exception):
    """What was asked for cannot be done now; nothing was done, and the replica goes on."""


class NotLeaderError(RefusedError):
    """Only the leader, in the term asked for, takes this. Nothing was proposed."""

    def __init__(self, leader: Peer | None) -> None:
        advice = (
            f"{leader.node} does: ask there"
            if leader
            else "no leader is known: try again once one is elected"
        )
        super().__init__(f"this replica does not lead; {advice}")
        self.leader: Final = leader


class EntryTooLargeError(RefusedError):
    """A payload is over the limit. Nothing was proposed."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"an entry of {size} bytes; {limit} is the most; send less at once")


class ChangeRefusedError(RefusedError):
    """The membership cannot change like this now. Nothing was proposed."""


class TransferRefusedError(RefusedError):
    """Leadership cannot go there."""


class ReplicaStoppedError(Exception):
    """Going on would break a promise: this replica must stop, and its operator must know."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"{what}; {fix}")
        self.what: Final = what
        self.fix: Final = fix
