"""Offsets for Python programs, over an `AsyncClient` or, as `Sync...`, over a `Client`."""

from quorate_offset.client.committer import Committer
from quorate_offset.client.offsets import Offsets
from quorate_offset.client.pending import PendingOffset, RefusedOffset
from quorate_offset.client.subscription_groups import SubscriptionGroups
from quorate_offset.client.synchronous import SyncCommitter, SyncOffsets, SyncSubscriptionGroups

__all__ = [
    "Committer",
    "Offsets",
    "PendingOffset",
    "RefusedOffset",
    "SubscriptionGroups",
    "SyncCommitter",
    "SyncOffsets",
    "SyncSubscriptionGroups",
]
