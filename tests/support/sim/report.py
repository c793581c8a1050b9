"""What runs covered, in words, and how to see a failure again."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.support.sim.simulation import Outcome


@dataclass(slots=True)
class Coverage:
    """The sum of several runs."""

    runs: int = 0
    seconds: float = 0.0
    messages: int = 0
    elections: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> "Coverage":
        """Add up runs."""
        total = cls()
        for outcome in outcomes:
            total.add(outcome)
        return total

    def add(self, outcome: Outcome) -> None:
        """Add a run."""
        self.runs += 1
        self.seconds += outcome.seconds
        self.messages += outcome.messages
        self.elections += outcome.elections
        self.counts.update(outcome.counts)

    def __str__(self) -> str:
        counted = ", ".join(f"{self.counts[what]:,} {what}" for what in sorted(self.counts))
        return (
            f"{self.runs:,} runs, {self.seconds / 3600:.2f} virtual hours,"
            f" {self.messages:,} messages, {self.elections:,} elections, {counted}"
        )


def failure(
    outcome: Outcome, seconds: float, bug: str | None = None, *, splits: bool = False
) -> str:
    """Say what a run found, and the command that runs it again."""
    command = f"python -m tests.support.sim --seed {outcome.seed} --minutes {seconds / 60:g}"
    if splits:
        command += " --splits"
    if bug is not None:
        command += f" --bug {bug}"
    return (
        f"seed {outcome.seed}, at {outcome.seconds:.3f} virtual seconds:"
        f" {outcome.violation}\nto see it again: {command}"
    )
