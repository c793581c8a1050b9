"""The first shards of groups: those that all voters declare and that do not exist yet."""

from collections.abc import Collection, Mapping, Sequence

from quorate.consensus.messages import Peer
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import even_cut
from quorate.v1.control_pb2 import NodeDeclaration, ShardMember, ShardRow

Groups = Mapping[str, int]


def declared_alike(
    declarations: Mapping[Peer, NodeDeclaration | None],
) -> tuple[Groups, str | None]:
    """Return the shards of each group that all voters declare, and how declarations differ.

    There are none until all declare the same; the difference is None while declarations are
    missing.
    """
    first: NodeDeclaration | None = None
    for peer, declaration in declarations.items():
        if declaration is None or declaration.replica != peer.replica:
            return {}, None
        if first is None:
            first = declaration
            continue
        difference = difference_of(first, declaration)
        if difference is not None:
            return {}, difference
    return ({} if first is None else _groups(first)), None


def missing_shards(
    groups: Groups, existing: Collection[ShardId], voters: Sequence[Peer]
) -> list[ShardRow]:
    """Return the rows of shards for groups without any."""
    founded = {shard.group for shard in existing}
    members = [ShardMember(node=peer.node, replica=peer.replica) for peer in voters]
    return [
        ShardRow(group=group, number=number, slots=slots, version=1, members=members)
        for group, shards in sorted(groups.items())
        if group not in founded
        for number, slots in enumerate(even_cut(shards))
    ]


def difference_of(one: NodeDeclaration, other: NodeDeclaration) -> str | None:
    """Return how two declarations differ, or None."""
    ours, theirs = _groups(one), _groups(other)
    for group in sorted({*ours, *theirs}):
        if ours.get(group) != theirs.get(group):
            return (
                f"{one.node} declares {_shards(ours.get(group))} of group {group} and {other.node}"
                f" {_shards(theirs.get(group))}; make [groups] and the enabled plugins equal in the"
                " files of both"
            )
    if one.fingerprint != other.fingerprint:
        return (
            f"{one.node} and {other.node} run different plugins or versions of them; compare"
            " `quorate plugin list` on both"
        )
    return None


def _groups(declaration: NodeDeclaration) -> Groups:
    return {group.name: group.shards for group in declaration.groups}


def _shards(count: int | None) -> str:
    return "no shard" if count is None else f"{count} shard{'s' if count > 1 else ''}"
