"""The number of shards per group, by plugins and by settings."""

from collections.abc import Mapping

from quorate.groups.topology_rows import parents_of
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.v1.control_pb2 import ShardRow


class GroupsDifferError(Exception):
    """The configured groups differ from those of the cluster."""


def declared_groups(catalog: Catalog, configured: Mapping[str, int]) -> Mapping[str, int]:
    """Return this node's number of shards per group.

    `configured` has the settings. Raises `GroupsDifferError` for groups that no plugin has.
    """
    strange = sorted(set(configured) - set(catalog.groups))
    if strange:
        raise GroupsDifferError(
            f"[groups] names {', '.join(strange)}, and no enabled plugin declares a group of that"
            f" name; declared are {', '.join(catalog.groups)}: correct the name, or enable the"
            " plugin"
        )
    return {
        name: configured.get(name, group.shards) for name, group in sorted(catalog.groups.items())
    }


def check_configured(configured: Mapping[str, int], rows: Mapping[ShardId, ShardRow]) -> None:
    """Raise `GroupsDifferError` for settings that contradict the shards of the cluster."""
    for group, wanted in sorted(configured.items()):
        # The shards that it was founded with: it may have been split since then.
        there = sum(shard.group == group and not parents_of(row) for shard, row in rows.items())
        if there and there != wanted:
            raise GroupsDifferError(
                f"[groups.{group}] shards is {wanted}, and the slot map of the cluster has"
                f" {there} shards of group {group}: the number was fixed when the cluster was"
                f" formed; set it to {there}, or remove the setting"
            )
