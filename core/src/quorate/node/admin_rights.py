"""The service of operators, and the rights that its methods need."""

from typing import Final

from quorate.plugin import Access
from quorate.v1 import admin_pb2 as pb

SERVICE: Final = pb.DESCRIPTOR.services_by_name["AdminService"]
_OPERATE: Final = Access(right="write")
ACCESS: Final = {
    **dict.fromkeys(SERVICE.methods_by_name, _OPERATE),
    "Topology": Access(right="identity"),
    "WatchTopology": Access(right="identity"),
    "Status": Access(right="read"),
    "QuotaUsage": Access(right="read"),
    "Placement": Access(right="read"),
    "Levels": Access(right="read"),
    "ExplainKey": Access(right="read"),
    "Recorded": Access(right="read"),
}
#: Methods that are answered in every state of the node.
ALWAYS: Final = tuple(
    f"{SERVICE.full_name}/{each}" for each in ("Topology", "WatchTopology", "Status")
)
