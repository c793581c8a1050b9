"""How old what a replica has applied may be."""


class Freshness:
    """Follows what was committed when, and what of it is applied here."""

    def __init__(self) -> None:
        #: A moment at which everything that was committed then is applied here by now.
        self.at = float("-inf")
        #: The oldest and the newest of what was heard and is not applied yet: (moment, index).
        self._waited_for: tuple[float, int] | None = None
        self._newest = float("-inf"), 0

    def heard(self, moment: float, index: int, applied: int) -> None:
        """Record that what was committed at a moment ends at an index."""
        if moment <= self._newest[0]:
            return
        self._newest = moment, index
        if self._waited_for is None:
            self._waited_for = self._newest
        self.applied(applied)

    def applied(self, index: int) -> None:
        """Record how far this replica has come."""
        if self._waited_for is None or index < self._waited_for[1]:
            return
        if index >= self._newest[1]:
            self.at, self._waited_for = self._newest[0], None
        else:
            self.at, self._waited_for = self._waited_for[0], self._newest
