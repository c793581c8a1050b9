"""What the types declare: the extension point, and those that the plugin gives to it itself."""

from typing import Final

from quorate.plugin import ExtensionPoint

from quorate_connector.api import TYPES, ConnectorType
from quorate_connector.resource import Resource
from quorate_connector.types.file import FILE
from quorate_connector.types.kafka import KAFKA
from quorate_connector.types.mqtt_bridge import MQTT_BRIDGE
from quorate_connector.types.webhook import WEBHOOK

SHIPPED: Final = (FILE, KAFKA, MQTT_BRIDGE, WEBHOOK)

RESOURCE: Final = Resource(
    extensions=(
        ExtensionPoint(name=TYPES, type=ConnectorType),
        *(each.extension for each in SHIPPED),
    )
)
