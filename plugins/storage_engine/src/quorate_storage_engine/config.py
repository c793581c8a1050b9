"""The section `[plugins.storage_engine]` of the configuration file."""

from pydantic import BaseModel, ConfigDict, Field


class StorageEngineConfig(BaseModel):
    """How this node looks after engine shards while it leads them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    batch: int = Field(
        500, ge=1, le=10_000, description="Segments that a controller changes with one command."
    )
    election_interval_s: float = Field(
        5.0,
        gt=0,
        description="Time between two looks for segments without a leader, in seconds; a change "
        "of the brokers is seen at once.",
    )
    log_end_timeout_s: float = Field(
        2.0, gt=0, description="Time that an engine has to tell where its logs end, in seconds."
    )
    balance_interval_s: float = Field(
        60.0, gt=0, description="Time between two rounds of leader balancing, in seconds."
    )
    balance_moves: int = Field(
        50, ge=0, description="The most leaders that are moved in one round; 0 moves none."
    )
    move_interval_s: float = Field(
        2.0,
        gt=0,
        description="Time between two looks for replicas to add or to move, in seconds.",
    )
    collection_interval_s: float = Field(
        5.0, gt=0, description="Time between two rounds of garbage collection, in seconds."
    )
    overdue_after_s: float = Field(
        300.0,
        gt=0,
        description="Time after which a drop that its engine did not acknowledge is reported, in "
        "seconds.",
    )
