"""The section `[plugins.name_server]` of the configuration file."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class NameServerConfig(BaseModel):
    """How this node answers for brokers and routes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reads: Literal["consistent", "available"] = Field(
        "available",
        description="How reads are answered that do not say it themselves: `consistent` with every "
        "change that was answered before, `available` with what this node knows, also without a "
        "majority.",
    )
    register_timeout_s: float = Field(
        3.0,
        gt=0,
        description="Time after which a registration that no majority took is remembered by this "
        "node alone, in seconds.",
    )
    unconfirmed_bytes: int = Field(
        1 << 26,
        ge=0,
        description="Registrations that this node remembers without a majority, in bytes; 0 "
        "remembers none.",
    )
