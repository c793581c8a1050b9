"""The types that the plugin brings itself: files, Kafka, other MQTT brokers and HTTP servers."""

import re
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
)

from quorate_connector.api import ConnectorType, SecretRef

_ADDRESS: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})")

#: For every shipped model: errors must not show the input.
MODEL_CONFIG: Final = ConfigDict(
    frozen=True, extra="forbid", hide_input_in_errors=True, allow_inf_nan=False
)


def _address(text: str) -> str:
    found = _ADDRESS.fullmatch(text)
    if found is None or not 0 < int(found[2]) < 65_536:
        raise ValueError("must be HOST:PORT, an IPv6 address in brackets")
    return text


#: The address of a server.
Address = Annotated[str, AfterValidator(_address)]
#: The source of the messages; the worker interprets the name.
Topic = Annotated[
    str,
    Field(min_length=1, max_length=3_072, description="Where the messages come from."),
]


def _absolute(path: str) -> str:
    if not path.startswith("/") or "\0" in path:
        raise ValueError("must be an absolute path")
    return path


class FileConfig(BaseModel):
    """A file to which messages are appended."""

    model_config = MODEL_CONFIG

    topic: Topic
    path: Annotated[str, AfterValidator(_absolute)] = Field(
        min_length=1,
        max_length=4_096,
        description="The file, or the prefix of its name if several tasks write.",
    )
    format: Literal["lines", "json"] = Field(
        "lines", description="One message per line, unchanged or as JSON with its key."
    )
    sync: bool = Field(True, description="Sync the file before storing progress.")


FILE: Final = ConnectorType(name="file", model=FileConfig, progress_of=("topic", "path"))


Security = Literal["plaintext", "tls", "sasl_plain", "sasl_scram_sha_256", "sasl_scram_sha_512"]


def _some(brokers: tuple[str, ...]) -> tuple[str, ...]:
    # Not `min_length`, which counts only the valid items.
    if not brokers:
        raise ValueError("must name at least one broker")
    return brokers


class KafkaConfig(BaseModel):
    """A topic of a Kafka cluster to which messages are produced."""

    model_config = MODEL_CONFIG

    topic: Topic
    brokers: Annotated[tuple[Address, ...], AfterValidator(_some)] = Field(
        max_length=64, description="Bootstrap brokers, each as HOST:PORT."
    )
    remote_topic: str = Field(
        min_length=1,
        max_length=249,
        pattern=r"^[A-Za-z0-9._-]+$",
        description="The topic in the Kafka cluster.",
    )
    acks: Literal["all", "leader", "none"] = Field(
        "all", description="Replicas that must acknowledge a message before progress advances."
    )
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = "none"
    linger_ms: int = Field(5, ge=0, le=60_000, description="Time to wait for a batch to fill.")
    security: Security = "plaintext"
    username: str = Field("", max_length=256, validate_default=True)
    password: SecretRef | None = Field(None, validate_default=True)

    @field_validator("username", "password")
    @classmethod
    def _given_with_sasl(
        cls, value: str | SecretRef | None, info: ValidationInfo
    ) -> str | SecretRef | None:
        security = info.data.get("security")
        if security is not None and security.startswith("sasl") and not value:
            raise ValueError(f"is needed with the security {security}")
        return value


KAFKA: Final = ConnectorType(name="kafka", model=KafkaConfig, progress_of=("topic", "remote_topic"))


class MqttBridgeConfig(BaseModel):
    """Another MQTT broker to which messages are published."""

    model_config = MODEL_CONFIG

    topic: Topic
    address: Address = Field(description="The broker, as HOST:PORT.")
    remote_prefix: str = Field(
        "",
        max_length=3_072,
        pattern=r"^[^+#\x00]*$",
        description="Prefix of every topic on the remote broker.",
    )
    client_id: str = Field(
        "", max_length=256, description="MQTT client id; empty: derived from connector and task."
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


_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
#: Headers that authenticate a client.
_SECRET_HEADER: Final = re.compile(r"authorization|cookie|token|secret|password|api-?key", re.I)


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("must be a URL that begins with http:// or https:// and names a host")
    if "@" in parts.netloc:
        raise ValueError("must not hold a user or a password: refer to them in secret_headers")
    return text


def _header(name: str) -> str:
    if not _HEADER.fullmatch(name):
        raise ValueError("must be a name of an HTTP header")
    return name


def _open_header(name: str) -> str:
    if _SECRET_HEADER.search(name):
        raise ValueError("is a secret by its name: refer to it in secret_headers")
    return _header(name)


class WebhookConfig(BaseModel):
    """An HTTP server to which messages are sent."""

    model_config = MODEL_CONFIG

    topic: Topic
    url: Annotated[str, AfterValidator(_url)] = Field(min_length=1, max_length=2_048)
    method: Literal["POST", "PUT"] = "POST"
    headers: dict[
        Annotated[str, AfterValidator(_open_header)],
        Annotated[str, StringConstraints(max_length=4_096, pattern=r"^[\x20-\x7e]*$")],
    ] = Field({}, max_length=64, description="Sent with every message.")
    secret_headers: dict[Annotated[str, AfterValidator(_header)], SecretRef] = Field(
        {}, max_length=64, description="Sent as well, with their references resolved."
    )
    batch: int = Field(1, ge=1, le=1_000, description="Messages per request.")
    timeout_ms: int = Field(10_000, ge=1, le=300_000)


WEBHOOK: Final = ConnectorType(name="webhook", model=WebhookConfig, progress_of=("topic",))

SHIPPED: Final = (FILE, KAFKA, MQTT_BRIDGE, WEBHOOK)
