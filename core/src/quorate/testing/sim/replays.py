"""What the logs of a run come to, by a reference: whoever judges results and rows asks this."""

from typing import Final

from quorate.testing.sim.facts import Applied, Fact
from quorate.testing.sim.model import ShardModel


class Replays:
    """Replays each shard's entries in the order in which the first replica applies them."""

    name = "the replay of the logs"
    judges = (Applied,)

    def __init__(self) -> None:
        self._models: Final[dict[str, ShardModel]] = {}

    def of(self, shard: str) -> ShardModel:
        """Return a shard as it is after the newest entry that any replica applied."""
        if shard not in self._models:
            self._models[shard] = ShardModel(shard)
        return self._models[shard]

    def see(self, fact: Fact) -> None:
        """Follow the logs."""
        if isinstance(fact, Applied):
            self.of(fact.shard).take(fact.entry)
