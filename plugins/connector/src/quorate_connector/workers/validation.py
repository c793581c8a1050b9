"""What is wrong with a command whatever the rows say."""

from typing import Final

from quorate.plugin import Invalid

from quorate_connector.names import check_identity
from quorate_connector.v1.tasks_pb2 import DrainWorker, UndrainWorker

#: No deadline of a worker or a release is later.
LONGEST_MS: Final = 3_600_000


def check_drain(command: DrainWorker) -> None:
    """Refuse to drain nobody, or to wait for ever."""
    check_identity("worker", command.worker)
    check_time("release_timeout_ms", command.release_timeout_ms)


def check_undrain(command: UndrainWorker) -> None:
    """Refuse to undrain nobody."""
    check_identity("worker", command.worker)


def check_time(field: str, time_ms: int) -> None:
    """Refuse a time to wait that is too long."""
    if time_ms > LONGEST_MS:
        raise Invalid(field, f"must be at most {LONGEST_MS}, not {time_ms}")
