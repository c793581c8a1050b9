"""The type `mqtt_bridge`: messages are published to another MQTT broker."""

from typing import Final

from pydantic import BaseModel, Field

from quorate_connector.api import ConnectorType, SecretRef
from quorate_connector.types.fields import MODEL_CONFIG, Address, Topic


class MqttBridgeConfig(BaseModel):
    """Another MQTT broker to which messages are published."""

    model_config = MODEL_CONFIG

    topic: Topic
    address: Address = Field(description="The broker, as HOST:PORT.")
    remote_prefix: str = Field(
        "",
        max_length=3_072,
        pattern=r"^[^+#\x00]*$",
        description="Stands before every topic there.",
    )
    client_id: str = Field(
        "", max_length=256, description="The name there; empty: made of the connector and the task."
    )
    qos: int = Field(1, ge=0, le=2)
    retain: bool = False
    tls: bool = False
    keep_alive_s: int = Field(60, ge=1, le=65_535)
    username: str = Field("", max_length=512)
    password: SecretRef | None = None


MQTT_BRIDGE: Final = ConnectorType(
    name="mqtt_bridge", model=MqttBridgeConfig, progress_of=("topic",)
)
