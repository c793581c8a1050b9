"""The section `[plugins.offset]` of the configuration file."""

from pydantic import BaseModel, ConfigDict, Field


class OffsetConfig(BaseModel):
    """The settings by which this node expires offsets."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    expiry_interval_s: float = Field(
        60.0,
        gt=0,
        description="Interval of the search for expired groups, in seconds.",
    )
