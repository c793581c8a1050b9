"""Resources for other plugins: the values of their settings."""

from quorate.builtin.resource.plugin import RESOURCES
from quorate.plugin import Consistency, NodeApi, keys
from quorate.plugin.resource import read_rows


async def value_of(
    node: NodeApi, path: str, consistency: Consistency = "linearizable"
) -> bytes | None:
    """Return the value of the resource with this path; None if it does not exist."""
    [resource] = await read_rows(node, RESOURCES, [keys.pack(path)], consistency)
    return None if resource is None else resource.value
