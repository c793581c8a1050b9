"""What is wrong with a command whatever the rows say; it is refused before it is logged."""

from typing import Final

from quorate.plugin import Invalid
from quorate.plugin.checking import LONGEST_NAME, check_name, check_text

from quorate_mqtt.names import check_identity, check_topic_filter
from quorate_mqtt.topic_filters import group_of
from quorate_mqtt.v1.shared_groups_pb2 import (
    CreateSharedGroup,
    DeleteSharedGroup,
    GetSharedGroupRequest,
    JoinSharedGroup,
    LeaveSharedGroup,
    UpdateSharedGroup,
)

LARGEST_PARAMETERS: Final = 16 * 1024


def check_group(command: CreateSharedGroup | UpdateSharedGroup, path: str = "") -> None:
    """Refuse a group without a name, or with too much to keep."""
    check_named(command, path)
    _check_parameters(command.parameters, path)


def check_named(
    command: CreateSharedGroup | UpdateSharedGroup | DeleteSharedGroup | GetSharedGroupRequest,
    path: str = "",
) -> None:
    """Refuse what names no group."""
    check_name(f"{path}tenant", command.tenant)
    check_share_name(command.name, f"{path}name")


def check_join(command: JoinSharedGroup, path: str = "") -> None:
    """Refuse a member that is nobody, or that nobody serves."""
    _check_member(command, path)
    check_identity(f"{path}broker", command.broker)
    _check_parameters(command.parameters, path)


def check_leave(command: LeaveSharedGroup, path: str = "") -> None:
    """Refuse a member that is nobody."""
    _check_member(command, path)


def check_share_name(name: str, field: str) -> None:
    """Refuse what MQTT allows for no group of a shared subscription."""
    check_text(field, name, LONGEST_NAME)
    if any(character in name for character in "/+#"):
        raise Invalid(field, "must not have '/', '+' or '#'")


def _check_member(command: JoinSharedGroup | LeaveSharedGroup, path: str) -> None:
    check_name(f"{path}tenant", command.tenant)
    check_share_name(command.group, f"{path}group")
    check_identity(f"{path}client_id", command.client_id)
    check_topic_filter(f"{path}filter", command.filter)
    if group_of(command.filter):
        raise Invalid(f"{path}filter", "must be what stands behind $share and the group")
    if command.broker_epoch == 0:
        raise Invalid(
            f"{path}broker_epoch", "must be the epoch that the registration was answered with"
        )


def _check_parameters(parameters: bytes, path: str) -> None:
    if len(parameters) > LARGEST_PARAMETERS:
        raise Invalid(
            f"{path}parameters",
            f"must have at most {LARGEST_PARAMETERS} bytes, not {len(parameters)}",
        )
