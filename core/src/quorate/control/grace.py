"""When a leader may hold it against somebody that a renewal did not come."""

from typing import Final


class Grace:
    """Since when one leader has heard every renewal, in the logical time of its shard.

    Logical time shows every kind of stall: of the process, of the machine, and a leap of its clock.
    """

    def __init__(self, led_since_ms: int) -> None:
        self._led_since_ms: Final = led_since_ms
        self._looked_at_ms = led_since_ms
        #: How long each stall was and when it ended; the later ones are shorter.
        self._stalls: list[tuple[int, int]] = []

    def look(self, now_ms: int, expected_ms: int) -> None:
        """Record that the loop runs now; more than `expected_ms` since it did is a stall."""
        gap_ms = now_ms - self._looked_at_ms - expected_ms
        self._looked_at_ms = now_ms
        # A stall concerns times to live below four times its length, for as long as they last.
        self._stalls = [
            (length_ms, ended_ms)
            for length_ms, ended_ms in self._stalls
            if length_ms > gap_ms and now_ms - ended_ms < 4 * length_ms
        ]
        if gap_ms > 0:
            self._stalls.append((gap_ms, now_ms))

    def ripe_at_ms(self, at_ms: int, ttl_ms: int) -> int:
        """Return when a deadline counts: one whole time to live behind the last long stall."""
        since_ms = self._led_since_ms
        for length_ms, ended_ms in self._stalls:
            if 4 * length_ms > ttl_ms:
                since_ms = ended_ms
        return max(at_ms, since_ms + ttl_ms)
