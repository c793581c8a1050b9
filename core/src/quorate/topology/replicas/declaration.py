"""The declaration of this node: its groups, its plugins, and the levels that it supports."""

from collections.abc import Iterable, Mapping
from importlib.metadata import version

from quorate.apply import levels
from quorate.consensus.messages import Peer
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.shards.topology_rows import parents_of
from quorate.v1.control_pb2 import DeclaredGroup, NodeDeclaration, ShardRow


class GroupsDifferError(Exception):
    """The configured groups differ from those of the cluster."""


class ReleaseTooOldError(Exception):
    """The release of this node does not support the levels in force in its cluster."""


def declaration_of(
    me: Peer,
    address: str,
    catalog: Catalog,
    *,
    configured: Mapping[str, int],
    replicas: Mapping[str, int] | None = None,
    machine: str = "",
    zone: str = "",
) -> NodeDeclaration:
    """Return the declaration of this node.

    `configured` are the numbers of shards in its settings, and `replicas` those of replicas of a
    shard, by group. Raises `GroupsDifferError` for groups that no plugin has.
    """
    placed = replicas or {}
    check_groups(catalog, [*configured, *placed])
    return NodeDeclaration(
        node=me.node,
        replica=me.replica,
        address=address,
        groups=[
            DeclaredGroup(
                name=name,
                shards=configured.get(name, group.shards),
                replicas=placed.get(name, 0),
            )
            for name, group in sorted(catalog.groups.items())
        ],
        fingerprint=catalog.fingerprint(),
        commands=catalog.commands,
        machine=machine,
        zone=zone,
        version=version("quorate"),
        levels=levels.rows_of(levels.levels_of(catalog)),
    )


def check_groups(catalog: Catalog, configured: Iterable[str]) -> None:
    """Raise `GroupsDifferError` for groups in the settings that no plugin has."""
    strange = sorted(set(configured) - set(catalog.groups))
    if strange:
        raise GroupsDifferError(
            f"[groups] names {', '.join(strange)}, and no enabled plugin declares a group of that"
            f" name; declared are {', '.join(catalog.groups)}: correct the name, or enable the"
            " plugin"
        )


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


def check_levels(declaration: NodeDeclaration, in_force: Mapping[str, int]) -> None:
    """Raise `ReleaseTooOldError` unless a node supports the levels in force."""
    why = levels.lacking(levels.by_feature(declaration.levels), in_force)
    if why is not None:
        raise ReleaseTooOldError(
            f"quorate {declaration.version} is too old for the cluster of {declaration.node},"
            f" whose upgrade was finished: {why}; install the release that the other nodes run"
        )


def are_known(declaration: NodeDeclaration, stored: NodeDeclaration) -> bool:
    """Whether the cluster knows the levels of this release: until then it may assume others."""
    known = levels.by_feature(stored.levels)
    return all(
        known.get(each.feature, levels.LOWEST) == each.level
        for each in declaration.levels
        if each.feature in known or not known
    )
