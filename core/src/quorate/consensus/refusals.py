"""Errors that a replica raises for its driver."""

from typing import Final

from quorate.consensus.messages import Peer


class RefusedError(Exception):
    """The request was refused without effect; the replica continues."""


class NotLeaderError(RefusedError):
    """This replica is not the leader, or not in the requested term. Nothing was proposed."""

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
        super().__init__(f"an entry of {size} bytes; at most {limit} allowed; send less at once")


class ChangeRefusedError(RefusedError):
    """This membership change is not possible now. Nothing was proposed."""


class TransferRefusedError(RefusedError):
    """Leadership cannot be transferred there."""


class ReplicaStoppedError(Exception):
    """Continuing would break a guarantee: this replica must stop."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"{what}; {fix}")
        self.what: Final = what
        self.fix: Final = fix


class MemoryLostError(ReplicaStoppedError):
    """The log lacks what this replica acknowledged: its directory is an older one."""
