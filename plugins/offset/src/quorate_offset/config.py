"""The section `[plugins.offset]` of the configuration file."""

from pydantic import BaseModel, ConfigDict, Field


class OffsetConfig(BaseModel):
    """How this node looks after offsets."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    expiry_interval_s: float = Field(
        60.0,
        gt=0,
        description="Time between two looks for groups that have expired, in seconds.",
    )
