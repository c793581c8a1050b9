"""The type `kafka`: messages are produced to a topic of a Kafka cluster."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, Field, ValidationInfo, field_validator

from quorate_connector.api import ConnectorType, SecretRef
from quorate_connector.types.fields import MODEL_CONFIG, Address, Topic

Security = Literal["plaintext", "tls", "sasl_plain", "sasl_scram_sha_256", "sasl_scram_sha_512"]


def _some(brokers: tuple[str, ...]) -> tuple[str, ...]:
    # Not `min_length`, which counts those alone that are right.
    if not brokers:
        raise ValueError("must name one at least")
    return brokers


class KafkaConfig(BaseModel):
    """A topic of a Kafka cluster to which messages are produced."""

    model_config = MODEL_CONFIG

    topic: Topic
    brokers: Annotated[tuple[Address, ...], AfterValidator(_some)] = Field(
        max_length=64, description="Brokers to begin with, each as HOST:PORT."
    )
    remote_topic: str = Field(
        min_length=1,
        max_length=249,
        pattern=r"^[A-Za-z0-9._-]+$",
        description="The topic in the Kafka cluster.",
    )
    acks: Literal["all", "leader", "none"] = Field(
        "all", description="Who has a message before progress goes on."
    )
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = "none"
    linger_ms: int = Field(5, ge=0, le=60_000, description="How long a batch is filled.")
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
