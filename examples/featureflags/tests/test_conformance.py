from collections.abc import Sequence

from google.protobuf.message import Message
from quorate.testing import PluginConformance
from quorate.v1.tenant_pb2 import CreateTenant, CreateTenants


class TestFeatureflags(PluginConformance):
    plugin = "featureflags"
    beside = ("tenant",)
    # The examples are not finished.
    only_refused = ("quorate_featureflags.v1.RetireFlags",)

    def log(self) -> Sequence[Message]:
        """Return the examples twice, once their tenant is there."""
        return [CreateTenants(tenants=[CreateTenant(name="tenant1")]), *super().log()]
