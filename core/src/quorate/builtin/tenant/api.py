"""What other plugins take part with in the deletion of a tenant."""

from quorate.plugin.resource import TenantCascade, waiting_tenants

__all__ = ["TenantCascade", "waiting_tenants"]
