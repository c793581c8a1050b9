"""What a node has counted since it began to serve, whoever is connected by now."""

from __future__ import annotations


class Counts:
    """Counters, which only rise."""

    __slots__ = (
        "_longest_s",
        "_shortest_s",
        "_total_s",
        "answered",
        "dropped",
        "received",
        "refused_identities",
        "rejected",
        "sent",
    )

    def __init__(self) -> None:
        #: Requests, and replies and events, of connections that have ended.
        self.received = 0
        self.sent = 0
        #: Connections that have ended, those among them that were one too many, and proofs of
        #: identities that were refused.
        self.dropped = 0
        self.rejected = 0
        self.refused_identities = 0
        #: Requests that were answered, and how long that took.
        self.answered = 0
        self._total_s = 0.0
        self._shortest_s = float("inf")
        self._longest_s = 0.0

    def took(self, seconds: float) -> None:
        """Count a request that was answered after this time."""
        self.answered += 1
        self._total_s += seconds
        if seconds > self._longest_s:
            self._longest_s = seconds
        if seconds < self._shortest_s:
            self._shortest_s = seconds

    def latency_ms(self) -> tuple[int, float, int]:
        """Return the shortest, the mean and the longest time of a request, in milliseconds."""
        if not self.answered:
            return 0, 0.0, 0
        mean = self._total_s / self.answered
        return int(self._shortest_s * 1_000), round(mean * 1_000, 4), int(self._longest_s * 1_000)
