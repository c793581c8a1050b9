"""What other plugins take part with in the deletion of a tenant."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from quorate.plugin import NodeApi


@dataclass(frozen=True, slots=True)
class TenantCascade:
    """What a plugin gives to `tenant.cascades`; the extension's name is its cascade.

    A tenant that is marked for deletion names the cascade in its row. The plugin deletes what it
    holds of the tenant, and takes on nothing new; then it proposes `FinishTenantCascade`.
    """

    #: Whether the plugin holds anything of the tenant of that name.
    holds: Callable[[NodeApi, str], Awaitable[bool]]
