"""Accesses and decisions as messages of the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from quorate_mqtt.authorisation.access import Access, Action
from quorate_mqtt.authorisation.policy import Decision, Reason
from quorate_mqtt.v1 import authorisation_pb2 as pb

# Both sides have the same names.
_ACTIONS: Final[Mapping[Action, Any]] = {
    each: pb.AccessAction.Value(f"ACCESS_ACTION_{each.name}") for each in Action
}
_REASONS: Final[Mapping[Reason, Any]] = {
    each: pb.AccessReason.Value(f"ACCESS_REASON_{each.name}") for each in Reason
}
_ACTION_OF: Final = {message: action for action, message in _ACTIONS.items()}
_REASON_OF: Final = {message: reason for reason, message in _REASONS.items()}


def is_action(action: pb.AccessAction) -> bool:
    """Return whether this version knows an action."""
    return action in _ACTION_OF


def access_of(request: pb.CheckAccessRequest) -> Access:
    """Return the access that a request asks about; its action must be known."""
    return Access(action=_ACTION_OF[request.action], **_alike(request))


def request_of(tenant: str, access: Access, *, allow_unmatched: bool) -> pb.CheckAccessRequest:
    """Return the request that asks about an access."""
    return pb.CheckAccessRequest(
        tenant=tenant,
        action=_ACTIONS[access.action],
        deny_unmatched=not allow_unmatched,
        **_alike(access),
    )


def _alike(source: Access | pb.CheckAccessRequest) -> dict[str, Any]:
    """Return the fields that an access and a request have alike."""
    names = ("client_id", "username", "address", "topic", "qos", "retain")
    return {name: getattr(source, name) for name in names}


def message_of(decision: Decision) -> pb.AccessDecision:
    """Return a decision as a message."""
    return pb.AccessDecision(
        allowed=decision.allowed,
        reason=_REASONS[decision.reason],
        decided_by=decision.decided_by,
    )


def decision_of(message: pb.AccessDecision) -> Decision:
    """Return the decision of a message."""
    return Decision(
        allowed=message.allowed,
        reason=_REASON_OF[message.reason],
        decided_by=message.decided_by,
    )
