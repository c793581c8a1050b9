"""What the logs of a run come to, by a reference: whoever judges results and rows asks this."""

from typing import Final

from tests.support.sim.facts import Applied, Evaluated, Fact
from tests.support.sim.model import ShardModel


class Replays:
    """Replays each shard's commands in the order in which the first replica stores their effects.

    The log holds effects alone: which commands they came from is known from their evaluation.
    """

    name = "the replay of the logs"
    judges = (Evaluated, Applied)

    def __init__(self) -> None:
        self._models: Final[dict[str, ShardModel]] = {}
        self._evaluated: Final[dict[tuple[str, int, bytes], Evaluated]] = {}

    def of(self, shard: str) -> ShardModel:
        """Return a shard as it is after the newest entry that any replica stored."""
        if shard not in self._models:
            self._models[shard] = ShardModel(shard)
        return self._models[shard]

    def see(self, fact: Fact) -> None:
        """Follow the logs."""
        match fact:
            case Evaluated(shard=shard, index=index, payload=payload):
                self._evaluated[shard, index, payload] = fact
            case Applied(shard=shard, entry=entry):
                found = self._evaluated.get((shard, entry.index, entry.payload))
                if found is None:
                    self.of(shard).take(entry.index)
                else:
                    self.of(shard).take(entry.index, found.commands, found.now_ms)
