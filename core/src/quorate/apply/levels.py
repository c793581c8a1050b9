"""Feature levels: a release uses a new feature only once all nodes of the cluster support it.

A node declares the highest level that it supports, of core and of each plugin. An operator raises
the levels in force once all nodes support more, and they never fall: from then on no older release
is started.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from quorate.plugin.catalog import Catalog
from quorate.v1 import control_pb2 as pb
from quorate.v1.levels_pb2 import Feature, FeatureLevel

#: The feature that is no plugin.
CORE: Final = "core"
#: The highest level of core that this release can.
CORE_LEVEL: Final = 4
#: The level of core from which on shards check their rows, and canaries write.
CHECKED_FROM: Final = 2
#: The level of core from which on shards are merged.
MERGED_FROM: Final = 3
#: The level of core from which on plugins are asked for the tokens that they gave out, tokens are
#: forgotten by command, and names of sessions are their owner's.
ASKED_FROM: Final = 4
#: The level of core from which on nodes prove their token over challenges alone.
CHALLENGED_FROM: Final = 4
#: Of what nobody has raised yet, and of nodes that declare none.
LOWEST: Final = 1

#: A level that a command needs is not in force yet: finish the upgrade.
NOT_IN_FORCE: Final = "LEVEL_NOT_IN_FORCE"
#: A node does not support what is in force in its cluster.
TOO_OLD: Final = "RELEASE_TOO_OLD"


def levels_of(catalog: Catalog) -> Mapping[str, int]:
    """Return the highest levels that a node with these plugins supports, by feature."""
    plugins = {name: plugin.level for name, plugin in catalog.declared.items()}
    return {CORE: CORE_LEVEL, **plugins}


def by_feature(levels: Iterable[FeatureLevel]) -> dict[str, int]:
    """Return levels by feature."""
    return {each.feature: each.level for each in levels}


def rows_of(levels: Mapping[str, int]) -> list[FeatureLevel]:
    """Return levels as messages, in the order of their features."""
    return [FeatureLevel(feature=name, level=level) for name, level in sorted(levels.items())]


def lacking(can: Mapping[str, int], in_force: Mapping[str, int]) -> str | None:
    """Return the level in force that a node does not support; None if it supports all.

    What a node does not declare it does not serve, unless it declares nothing at all.
    """
    for feature, level in sorted(in_force.items()):
        most = can.get(feature, LOWEST if feature == CORE or not can else level)
        if most < level:
            return f"level {level} of {feature} is in force, and its release supports {most}"
    return None


def features(
    declared: Collection[pb.NodeDeclaration], in_force: Mapping[str, int]
) -> list[Feature]:
    """Return each feature: its level in force, its next one, and the nodes that lack that."""
    return [
        Feature(
            name=name,
            level=(level := in_force.get(name, LOWEST)),
            next=(top := max(level, *most.values())),
            lacking=[node for node, each in most.items() if each < top],
        )
        for name, most in declared_by_feature(declared).items()
    ]


def declared_by_feature(declared: Collection[pb.NodeDeclaration]) -> dict[str, dict[str, int]]:
    """Return the level of each node by feature; nodes without a feature are left out."""
    can = {each.node: by_feature(each.levels) for each in declared}
    return {
        name: {
            node: levels.get(name, LOWEST)
            for node, levels in sorted(can.items())
            if name in levels or not levels
        }
        for name in sorted(set().union(*can.values()))
    }
