"""The name of a shard."""

import re
from typing import Final, NamedTuple, Self

_NAME: Final = re.compile(r"([a-z][a-z0-9_-]*)/(0|[1-9][0-9]*)", re.ASCII)


class ShardId(NamedTuple):
    """One shard of a group: `offset/3`."""

    group: str
    number: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` gives; raises `ValueError` for anything else."""
        found = _NAME.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} names no shard: write <group>/<number>, as in offset/3")
        return cls(found[1], int(found[2]))

    def __str__(self) -> str:
        return f"{self.group}/{self.number}"
