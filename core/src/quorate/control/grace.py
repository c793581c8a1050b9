"""When a leader may treat a missing renewal as an expiry."""

from typing import Final


class Grace:
    """Tracks stalls in which a leader may have missed renewals, in the shard's logical time.

    Logical time shows every kind of stall: of the process, the machine, and a jump of its clock.
    """

    def __init__(self, led_since_ms: int) -> None:
        self._led_since_ms: Final = led_since_ms
        self._looked_at_ms = led_since_ms
        #: The length and the end of each stall; later ones are shorter.
        self._stalls: list[tuple[int, int]] = []

    def look(self, now_ms: int, expected_ms: int) -> None:
        """Record that the loop is running; a gap of more than `expected_ms` is a stall."""
        gap_ms = now_ms - self._looked_at_ms - expected_ms
        self._looked_at_ms = now_ms
        # A stall affects times to live up to four times its length, while they last.
        self._stalls = [
            (length_ms, ended_ms)
            for length_ms, ended_ms in self._stalls
            if length_ms > gap_ms and now_ms - ended_ms < 4 * length_ms
        ]
        if gap_ms > 0:
            self._stalls.append((gap_ms, now_ms))

    def ripe_at_ms(self, at_ms: int, ttl_ms: int) -> int:
        """Return when a deadline counts: a full time to live after the last long stall."""
        since_ms = self._led_since_ms
        for length_ms, ended_ms in self._stalls:
            if 4 * length_ms > ttl_ms:
                since_ms = ended_ms
        return max(at_ms, since_ms + ttl_ms)
