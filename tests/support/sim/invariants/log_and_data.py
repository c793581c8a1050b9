"""Log and data agree at every opening: what is applied lies within the log."""

from tests.support.sim.facts import Fact, Opened
from tests.support.sim.history import Violation


class LogAndData:
    """The log is cut at or below what is applied, which is at or below its end.

    But for a snapshot that was installed right before the process ended: the log is reset to it.
    """

    name = "cut <= applied <= last"
    judges = (Opened,)

    def see(self, fact: Fact) -> None:
        """Judge what a disk held."""
        if isinstance(fact, Opened):
            cut = fact.position.index
            last = cut + len(fact.terms)
            installed = fact.installed.index if fact.installed else 0
            reaches = fact.applied <= last or fact.applied == installed
            if cut > fact.applied or not reaches:
                raise Violation(
                    self.name,
                    f"{fact.peer} of {fact.shard} opens with index {fact.applied} applied, and a"
                    f" log of {cut + 1} to {last}",
                )
