"""Checks that need no rows: they refuse an invalid request before it is logged."""

from collections.abc import Mapping, Sequence
from typing import Final

from quorate.plugin import Invalid
from quorate.plugin.checking import check_longest
from quorate.v1 import cluster_pb2 as pb

LONGEST_TEXT: Final = 255
#: A page of the longest list fits twice into a message of the default size.
LARGEST_REGISTRATION: Final = 8 * 1024
SHORTEST_TTL_MS: Final = 100
LONGEST_TTL_MS: Final = 3_600_000


def check_registration(command: pb.RegisterBroker, path: str) -> None:
    """Refuse a registration with invalid fields, a TTL out of range, or too many bytes."""
    check_text(f"{path}cluster_name", command.cluster_name)
    _check_roles(f"{path}roles", command.roles)
    check_labels(f"{path}labels", command.labels)
    _check_addresses(f"{path}addresses", command.addresses)
    if command.ttl_ms and not SHORTEST_TTL_MS <= command.ttl_ms <= LONGEST_TTL_MS:
        raise Invalid(
            f"{path}ttl_ms",
            f"must be 0 or from {SHORTEST_TTL_MS} to {LONGEST_TTL_MS}, not {command.ttl_ms}",
        )
    size = command.ByteSize()
    if size > LARGEST_REGISTRATION:
        raise Invalid(
            path.rstrip("."),
            f"must have at most {LARGEST_REGISTRATION} bytes, not {size}; send fewer roles, "
            "labels or addresses",
        )


def check_epoch(command: pb.UnregisterBroker | pb.SendHeartbeat, path: str) -> None:
    """Refuse a command without the epoch of a registration."""
    if command.epoch == 0:
        raise Invalid(f"{path}epoch", "must be the epoch in the reply to the registration")


def check_list(request: pb.ListBrokersRequest) -> None:
    """Refuse a name, role, label or page token that no broker can have."""
    check_wanted("cluster_name", request.cluster_name)
    check_wanted("role", request.role)
    check_labels("labels", request.labels)
    check_wanted("page_token", request.page_token)


def check_text(field: str, text: str) -> None:
    """Refuse a text that is empty, too long, or cannot be shown in one line."""
    if not text:
        raise Invalid(field, "must not be empty")
    check_wanted(field, text)


def check_wanted(field: str, text: str) -> None:
    """Refuse a text that is too long, or cannot be shown in one line; it may be empty."""
    check_longest(field, text, LONGEST_TEXT)
    if not text.isprintable():
        raise Invalid(field, "must not hold control characters or line breaks")


def _check_roles(field: str, roles: Sequence[str]) -> None:
    for position, role in enumerate(roles):
        check_text(f"{field}[{position}]", role)
    if len(set(roles)) < len(roles):
        raise Invalid(field, "must not name a role twice")


def check_labels(field: str, labels: Mapping[str, str]) -> None:
    """Refuse labels without a name, and invalid names and values of labels."""
    for label, value in labels.items():
        check_text(field, label)
        check_wanted(f"{field}[{label}]", value)


def _check_addresses(field: str, addresses: Mapping[str, str]) -> None:
    for listener, address in addresses.items():
        check_text(field, listener)
        check_text(f"{field}[{listener}]", address)
