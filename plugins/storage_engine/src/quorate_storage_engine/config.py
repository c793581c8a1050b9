"""The section `[plugins.storage_engine]` of the configuration file."""

from pydantic import BaseModel, ConfigDict, Field


class StorageEngineConfig(BaseModel):
    """How this node manages engine shards while it leads them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    batch: int = Field(
        500, ge=1, le=10_000, description="Segments that a controller changes with one command."
    )
    election_interval_s: float = Field(
        5.0,
        gt=0,
        description="Interval between checks for segments without a leader, in seconds; a change "
        "of the brokers triggers a check at once.",
    )
    log_end_timeout_s: float = Field(
        2.0, gt=0, description="Time limit for an engine to report its log ends, in seconds."
    )
    balance_interval_s: float = Field(
        60.0, gt=0, description="Interval between rounds of leader balancing, in seconds."
    )
    balance_moves: int = Field(
        50, ge=0, description="Maximum number of leaders moved in one round; 0 moves none."
    )
    move_interval_s: float = Field(
        2.0,
        gt=0,
        description="Interval between checks for replicas to add or to move, in seconds.",
    )
    collection_interval_s: float = Field(
        5.0, gt=0, description="Interval between rounds of garbage collection, in seconds."
    )
    overdue_after_s: float = Field(
        300.0,
        gt=0,
        description="Time after which a drop that its engine has not acknowledged is reported, in "
        "seconds.",
    )
