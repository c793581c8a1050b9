"""The extension point through which plugins take part in the deletion of a tenant."""

from typing import Final

from quorate.builtin.tenant.api import TenantCascade
from quorate.plugin import ExtensionPoint

POINT: Final = ExtensionPoint(name="tenant.cascades", type=TenantCascade)
