"""Declarations of the domain: one resource, configuration by path with opaque values."""

import re
from collections.abc import Sequence
from typing import Final

from quorate.plugin import (
    Declaration,
    Extension,
    Invalid,
    Resource,
    Serving,
    Storage,
    Verb,
    hookimpl,
)
from quorate.plugin.checking import check_bytes, check_longest
from quorate.v1 import resource_pb2 as pb

LONGEST_PATH: Final = 512
LARGEST_VALUE: Final = 64 * 1024
#: Their values together fit into one message.
MOST_PATHS: Final = 100

_PATH: Final = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")


def check_path(field: str, path: str) -> None:
    """Refuse a path that is empty, too long or malformed."""
    if not path:
        raise Invalid(field, "must not be empty")
    check_longest(field, path, LONGEST_PATH)
    if not _PATH.fullmatch(path):
        raise Invalid(field, "must be names of letters, digits, '.', '_' and '-', joined by '/'")


def check_value(put: pb.PutResource, path: str) -> None:
    """Refuse a value that is too large."""
    check_bytes(f"{path}value", put.value, LARGEST_VALUE)


#: Configuration changes seldom, and watches of it show the previous value.
RESOURCES: Final = Resource(
    family="resource.resources",
    row=pb.Resource,
    serving=Serving(answer=pb.StoredResource, lookups=MOST_PATHS),
    service=pb.DESCRIPTOR.services_by_name["ResourceService"],
    key=("path",),
    check=check_value,
    check_key={"path": check_path},
    storage=Storage(previous=True),
    verbs={
        "Put": Verb(
            examples=(
                pb.PutResource(path="settings/offset", value=b"{}", expected_revision=0),
                pb.PutResource(path="settings/mqtt", value=b'{"rate": 1}'),
            )
        ),
        "Delete": Verb(
            examples=(
                pb.DeleteResource(path="settings/mqtt", expected_revision=1),
                pb.DeleteResource(path="settings/offset"),
            )
        ),
    },
)


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [RESOURCES, Extension(point="cluster.console_groups", name="resource", value="Tenants")]
