"""The section `[plugins.connector]` of the configuration file."""

from pydantic import BaseModel, ConfigDict, Field


class ConnectorConfig(BaseModel):
    """The settings by which this node schedules tasks while it leads their shard."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    batch: int = Field(
        500, ge=1, le=1_000, description="Tasks that the scheduler moves with one command."
    )
    scheduling_interval_s: float = Field(
        1.0,
        gt=0,
        description="Interval of the scheduler, in seconds; a change of tasks or of workers' rows "
        "wakes it at once, a change of brokers once it is copied into the shard.",
    )
    worker_timeout_s: float = Field(
        10.0,
        gt=0,
        le=3_600,
        description="Time that a worker with tasks may stay silent before its first report, in "
        "seconds; from then on the timeout that it reports applies.",
    )
    release_timeout_s: float = Field(
        10.0,
        gt=0,
        le=3_600,
        description="Time that a task has to stop cleanly before it is taken away, in seconds.",
    )
    releases: int = Field(
        50, ge=0, description="The most tasks in motion for balance; 0 disables balancing."
    )
