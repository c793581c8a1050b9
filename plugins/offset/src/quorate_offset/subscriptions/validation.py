"""What is wrong with a command of subscription groups as a whole, whatever the rows say."""

from quorate_offset.offsets.validation import MOST_GROUPS, check_count
from quorate_offset.v1.commands_pb2 import (
    DeleteSubscriptionGroupsCommand,
    PutSubscriptionGroupsCommand,
)


def check_puts(command: PutSubscriptionGroupsCommand) -> None:
    """Refuse an empty batch, and one of too many groups."""
    check_count("groups", command.groups, MOST_GROUPS)


def check_deletions(command: DeleteSubscriptionGroupsCommand) -> None:
    """Refuse an empty batch, and one of too many groups."""
    check_count("deletions", command.deletions, MOST_GROUPS)
