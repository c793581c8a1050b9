"""Judges a simulated run by what it carried out: a run that refuses everything tests nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from quorate.apply.outcomes import INTERNAL
from quorate.testing.simulated import Acknowledged, Ended


@dataclass(slots=True)
class CarriedOut:
    """Counts the acknowledged commands of each type, and keeps the first refusal of each."""

    carried: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    why: dict[str, str] = field(default_factory=dict)

    def __call__(self, fact: Acknowledged | Ended) -> None:
        """Count a command, as a judge of a run."""
        if isinstance(fact, Ended):
            return
        refusal = fact.outcome.refusal
        if refusal is not None and refusal.code == INTERNAL:
            # A bug, of which another check tells.
            return
        name = fact.command.type
        if fact.refusals:
            self.refused[name] += 1
            self.why.setdefault(name, fact.refusals[0])
        else:
            self.carried[name] += 1

    @property
    def share(self) -> float:
        """The share of acknowledged commands that were carried out."""
        return self.carried.total() / max(1, self.carried.total() + self.refused.total())

    def without(self, names: Iterable[str]) -> list[str]:
        """Return which of these commands were never carried out, each with the reason."""
        return [
            f"{name} ({self.why.get(name, 'it was never answered')})"
            for name in sorted(names)
            if not self.carried[name]
        ]

    def most_refused(self) -> str:
        """Return the three commands that were refused most often, each with a reason."""
        return "; ".join(
            f"{name} {times} times ({self.why[name]})"
            for name, times in self.refused.most_common(3)
        )

    def __str__(self) -> str:
        whole = self.carried.total() + self.refused.total()
        return f"{self.carried.total()} of {whole} commands carried out ({self.share:.0%})"
