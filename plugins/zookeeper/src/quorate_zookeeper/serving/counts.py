"""Counters of a node since it began to serve, including closed connections."""

from __future__ import annotations


class Counts:
    """Monotonic counters."""

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
        #: Requests received, and replies and events sent, on closed connections.
        self.received = 0
        self.sent = 0
        #: Closed connections, connections among them that were over a limit, and refused proofs of
        #: identities.
        self.dropped = 0
        self.rejected = 0
        self.refused_identities = 0
        #: Answered requests, and their latencies.
        self.answered = 0
        self._total_s = 0.0
        self._shortest_s = float("inf")
        self._longest_s = 0.0

    def took(self, seconds: float) -> None:
        """Count an answered request with its latency."""
        self.answered += 1
        self._total_s += seconds
        if seconds > self._longest_s:
            self._longest_s = seconds
        if seconds < self._shortest_s:
            self._shortest_s = seconds

    def latency_ms(self) -> tuple[int, float, int]:
        """Return the minimum, mean and maximum latency of a request, in milliseconds."""
        if not self.answered:
            return 0, 0.0, 0
        mean = self._total_s / self.answered
        return int(self._shortest_s * 1_000), round(mean * 1_000, 4), int(self._longest_s * 1_000)
