"""The words of expiry, for the controller alone."""

from collections.abc import Sequence
from typing import Any, Final

from quorate.plugin import Command, Items, Query

from quorate_offset.expiry import queries
from quorate_offset.families import GROUP
from quorate_offset.offsets.vocabulary import shard_of
from quorate_offset.v1.commands_pb2 import ExpireGroupsCommand, GroupExpiry
from quorate_offset.v1.queries_pb2 import ListIdleGroupsQuery

COMMANDS: Final[Sequence[Command[Any]]] = (
    Command(
        message=ExpireGroupsCommand,
        group=GROUP,
        items=Items(
            get=lambda command: command.groups,
            shard_key=shard_of,
            make=lambda _, groups: ExpireGroupsCommand(groups=groups),
            key=shard_of,
        ),
        examples=(
            ExpireGroupsCommand(
                groups=[GroupExpiry(tenant="acme", group="audit", revision=1 << 20)]
            ),
        ),
    ),
)

QUERIES: Final[Sequence[Query[Any]]] = (
    Query(
        message=ListIdleGroupsQuery,
        group=GROUP,
        run=queries.list_idle_groups,
        order=queries.idle_order,
    ),
)
