from collections.abc import Sequence

from google.protobuf.message import Message
from quorate.testing import PluginConformance
from quorate.v1.cluster_pb2 import RegisterBroker
from quorate.v1.tenant_pb2 import CreateTenant, CreateTenants

WITH_SESSION = ("SessionConnect", "ConnectSession", "SetSubscription", "DeleteSubscription")


class TestMqtt(PluginConformance):
    plugin = "mqtt"
    beside = ("cluster", "tenant")
    seeds = (1, 2)
    # These name the generation of a session, which is drawn when it connects.
    only_refused = ("quorate_mqtt.v1.UpdateSessions", "quorate_mqtt.v1.DisconnectSessions")

    def log(self) -> Sequence[Message]:
        """Return the examples once: there are many commands, and some checks are quadratic.

        What needs a session comes again with one.
        """
        tenants = [CreateTenant(name=name) for name in ("acme", "globex")]
        broker = RegisterBroker(name="broker-1", cluster_name="mqtt")
        examples = self._examples()
        again = [each for each in examples if type(each).__name__.startswith(WITH_SESSION)]
        return [CreateTenants(tenants=tenants), broker, *examples, *again]
