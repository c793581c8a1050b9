"""The section `[plugins.connector]` of the configuration file."""

from pydantic import BaseModel, ConfigDict, Field


class ConnectorConfig(BaseModel):
    """How this node schedules tasks while it leads them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    batch: int = Field(
        500, ge=1, le=1_000, description="Tasks that the scheduler moves with one command."
    )
    scheduling_interval_s: float = Field(
        1.0,
        gt=0,
        description="Time between two looks for tasks to move, in seconds; a change of tasks or "
        "workers' rows is seen at once, one of the brokers when it was copied into the shard.",
    )
    worker_timeout_s: float = Field(
        10.0,
        gt=0,
        le=3_600,
        description="Time that a worker which was given tasks may be silent before it has said "
        "anything, in seconds; later what it says itself counts.",
    )
    release_timeout_s: float = Field(
        10.0,
        gt=0,
        le=3_600,
        description="Time that a task has to stop in order before it is taken away, in seconds.",
    )
    releases: int = Field(
        50, ge=0, description="The most tasks that are on the move for balance; 0 moves none."
    )
