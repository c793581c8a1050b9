"""The gRPC service of the decision."""

from __future__ import annotations

from typing import Final

from quorate.plugin import GrpcService, Invalid, Metric, NodeApi, Rejected
from quorate.plugin.checking import check_name

from quorate_mqtt.authorisation.access import take_apart
from quorate_mqtt.authorisation.messages import access_of, is_action
from quorate_mqtt.names import check_identity
from quorate_mqtt.v1 import authorisation_pb2, authorisation_pb2 as pb

DECISIONS: Final = Metric(
    name="quorate_mqtt_access_decisions_total",
    kind="counter",
    help="Answers of this node to CheckAccess, by whether they allow it.",
    labels=("allowed",),
)


class AuthorisationService:
    """Decides on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def CheckAccess(
        self, request: pb.CheckAccessRequest, context: object
    ) -> pb.AccessDecision:
        """Decide on one access."""
        check_name("tenant", request.tenant)
        check_identity("client_id", request.client_id)
        if request.username:
            check_identity("username", request.username)
        if not is_action(request.action):
            raise Invalid("action", "must be CONNECT, PUBLISH or SUBSCRIBE")
        take_apart(access_of(request))
        query = pb.CheckAccessQuery(access=request)
        async for decision in self._node.query(query, pb.AccessDecision):
            self._node.count(DECISIONS.name, allowed=str(decision.allowed).lower())
            return decision
        raise Rejected("NOT_FOUND", f"there is no tenant {request.tenant}: create it")


AUTHORISATION: Final = GrpcService(
    service=authorisation_pb2.DESCRIPTOR.services_by_name["AuthorisationService"],
    servicer=AuthorisationService,
)
