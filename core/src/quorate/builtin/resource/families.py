"""Where the rows are: one family, in the order of the paths."""

from typing import Final

from quorate.plugin import METADATA_GROUP, ColumnFamily, keys
from quorate.v1.resource_pb2 import Resource

GROUP: Final = METADATA_GROUP.name
RESOURCES: Final = "resource.resources"

#: Configuration changes seldom, and who follows it wants to know what has changed.
FAMILIES: Final = (ColumnFamily(name=RESOURCES, group=GROUP, row=Resource, previous=True),)


def resource_key(path: str) -> bytes:
    """Return the key of the resource with this path."""
    return keys.pack(path)
