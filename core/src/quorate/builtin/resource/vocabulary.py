"""The words for changing and reading resources: all that a client needs to know of the domain."""

from typing import Any, Final

from quorate.builtin.resource import queries
from quorate.builtin.resource.families import GROUP, resource_key
from quorate.builtin.resource.validation import (
    check_delete,
    check_deletes,
    check_put,
    check_puts,
)
from quorate.plugin import Command, Items, Query, constant_key
from quorate.v1.resource_pb2 import (
    DeleteResource,
    DeleteResources,
    GetResources,
    ListResources,
    PutResource,
    PutResources,
)

_RATE: Final = PutResource(path="settings/mqtt", value=b'{"rate": 1}')
_NEW: Final = PutResource(path="settings/offset", value=b"{}", expected_revision=0)

PUT: Final = Command(
    message=PutResource,
    group=GROUP,
    shard_key=constant_key,
    validate=check_put,
    public=True,
    examples=(_RATE, _NEW),
)

PUT_BATCH: Final = Command(
    message=PutResources,
    group=GROUP,
    items=Items(
        get=lambda command: command.puts,
        shard_key=constant_key,
        make=lambda _, puts: PutResources(puts=puts),
        key=lambda put: resource_key(put.path),
    ),
    validate=check_puts,
    public=True,
    examples=(PutResources(puts=[_NEW, _RATE]),),
)

DELETE: Final = Command(
    message=DeleteResource,
    group=GROUP,
    shard_key=constant_key,
    validate=check_delete,
    public=True,
    examples=(DeleteResource(path="settings/offset"),),
)

DELETE_BATCH: Final = Command(
    message=DeleteResources,
    group=GROUP,
    items=Items(
        get=lambda command: command.deletions,
        shard_key=constant_key,
        make=lambda _, deletions: DeleteResources(deletions=deletions),
        key=lambda deletion: resource_key(deletion.path),
    ),
    validate=check_deletes,
    public=True,
    examples=(
        DeleteResources(
            deletions=[
                DeleteResource(path="settings/mqtt", expected_revision=1),
                DeleteResource(path="settings/offset"),
            ]
        ),
    ),
)

GET_BATCH: Final = Query(
    message=GetResources, group=GROUP, run=queries.get_resources, shard_key=constant_key
)

LIST: Final = Query(
    message=ListResources, group=GROUP, run=queries.list_resources, shard_key=constant_key
)

COMMANDS: Final[tuple[Command[Any], ...]] = (PUT, PUT_BATCH, DELETE, DELETE_BATCH)
QUERIES: Final[tuple[Query[Any], ...]] = (GET_BATCH, LIST)
