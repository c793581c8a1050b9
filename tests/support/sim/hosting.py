"""What the nodes of a run host."""

from typing import NamedTuple

from quorate.apply.program import families_of
from quorate.plugin.catalog import Catalog


class Hosting(NamedTuple):
    """The plugins of every node, and the one group whose shards they form."""

    catalog: Catalog
    group: str

    @property
    def families(self) -> tuple[str, ...]:
        """The families that each shard keeps."""
        return families_of(self.catalog, self.group)
