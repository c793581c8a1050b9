"""Counters of a node since it began to serve, including closed connections."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counts:
    """Monotonic counters."""

    #: Requests received, and replies and events sent, on closed connections.
    received: int = 0
    sent: int = 0
    #: Closed connections, connections among them that were over a limit, and refused proofs of
    #: identities.
    dropped: int = 0
    rejected: int = 0
    refused_identities: int = 0
    #: Answered requests, and their latencies.
    answered: int = 0
    _total_s: float = 0.0
    _shortest_s: float = float("inf")
    _longest_s: float = 0.0

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
