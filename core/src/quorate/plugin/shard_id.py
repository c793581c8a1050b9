"""The name of a shard."""

import re
from functools import lru_cache
from typing import Final, NamedTuple, Self

_NAME: Final = re.compile(r"([a-z][a-z0-9_-]*)/(0|[1-9][0-9]*)", re.ASCII)


class ShardId(NamedTuple):
    """One shard of a group: `offset/3`."""

    group: str
    number: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the output of `str`; raises `ValueError` for any other text."""
        return cls(*_parsed(text))

    def __str__(self) -> str:
        return f"{self.group}/{self.number}"


#: The shard that holds the rows of all shards, and exists from the start.
METADATA: Final = ShardId("metadata", 0)


@lru_cache(4_096)
def _parsed(text: str) -> tuple[str, int]:
    found = _NAME.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} names no shard: write <group>/<number>, as in offset/3")
    return found[1], int(found[2])
