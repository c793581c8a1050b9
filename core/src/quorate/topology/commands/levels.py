"""The levels in force, and the declarations of nodes that they follow from."""

from typing import Final

from quorate.apply.levels import (
    LOWEST,
    TOO_OLD,
    by_feature,
    declared_by_feature,
    features,
    lacking,
    rows_of as messages_of,
)
from quorate.apply.txn import ShardTxn
from quorate.plugin import Rejected
from quorate.shards.topology_rows import rows_of
from quorate.storage.families import LEVELS, NODES
from quorate.topology.commands.members import being_added
from quorate.topology.rows import put
from quorate.v1 import control_pb2 as pb
from quorate.v1.levels_pb2 import FeatureLevel

#: A node keeps the levels from rising.
BLOCKED: Final = "UPGRADE_BLOCKED"


def report_declaration(txn: ShardTxn, command: pb.ReportDeclaration) -> None:
    """Record the declaration of a node; refused if it lacks a level that is in force."""
    declaration = command.declaration
    why = lacking(by_feature(declaration.levels), _in_force(txn))
    if why is not None:
        raise Rejected(TOO_OLD, f"{declaration.node} is too old for its cluster: {why}")
    row, key = declaration.SerializeToString(deterministic=True), declaration.node.encode()
    if txn.get(NODES, key) != row:
        txn.put(NODES, key, row)


def found(txn: ShardTxn) -> None:
    """Begin a cluster at the highest levels that all of its nodes support."""
    for name, most in declared_by_feature(_declared(txn)).items():
        if min(most.values()) > LOWEST:
            _put(txn, name, min(most.values()))


def raise_levels(txn: ShardTxn, _: pb.RaiseLevels) -> pb.RaiseLevelsReply:
    """Raise every level to the highest that any node supports; refused while a node does not."""
    declared = _declared(txn)
    by_node = {each.node: each for each in declared}
    silent = sorted({each.node for each in being_added(txn)} - by_node.keys())
    if silent:
        raise Rejected(BLOCKED, f"{silent[0]} is being added: wait until it has started")
    raised = [
        each
        for each in features(declared, _in_force(txn))
        if each.lacking or each.next > each.level
    ]
    for each in raised:
        if each.lacking:
            nodes = (_release(by_node[node], each.name) for node in each.lacking)
            raise Rejected(
                BLOCKED,
                f"level {each.next} of {each.name} is missing on {', '.join(nodes)}: upgrade"
                " it, or take it out of the cluster with `quorate member remove`; nothing was"
                " raised",
            )
    for each in raised:
        _put(txn, each.name, each.next)
    return pb.RaiseLevelsReply(levels=messages_of({each.name: each.next for each in raised}))


def _release(node: pb.NodeDeclaration, feature: str) -> str:
    """Name the release of a node: builds of different levels may have the same version."""
    level = by_feature(node.levels).get(feature, LOWEST)
    return f"{node.node} ({node.version or 'an older release'}, level {level})"


def _in_force(txn: ShardTxn) -> dict[str, int]:
    return by_feature(rows_of(txn, LEVELS, FeatureLevel))


def _declared(txn: ShardTxn) -> list[pb.NodeDeclaration]:
    return rows_of(txn, NODES, pb.NodeDeclaration)


def _put(txn: ShardTxn, name: str, level: int) -> None:
    put(txn, LEVELS, name.encode(), FeatureLevel(feature=name, level=level))
