"""What is wrong with a command whatever the rows say; it is refused before it is logged."""

from typing import Final

from quorate.builtin.cluster.coordinators.rows import Candidates
from quorate.builtin.cluster.validation import check_text, check_wanted
from quorate.plugin import Invalid
from quorate.v1.coordinator_pb2 import (
    AssignCoordinator,
    AssignCoordinators,
    ListCoordinatorsRequest,
    ReleaseCoordinator,
    ReleaseCoordinators,
)

#: Each may have to be weighed against every live broker.
MOST_ASSIGNMENTS: Final = 1_000
LONGEST_KEY: Final = 1_024
#: Role, cluster name and labels together, as they are packed.
LARGEST_CANDIDATES: Final = 1_024
LONGEST_TOKEN: Final = 4_096


def check_assignment(wanted: AssignCoordinator, path: str = "") -> None:
    """Refuse what names no key or no role, or more labels than fit."""
    _check_names(wanted, path)
    check_wanted(f"{path}cluster_name", wanted.cluster_name)
    for label, value in wanted.labels.items():
        check_text(f"{path}labels", label)
        check_wanted(f"{path}labels[{label}]", value)
    size = len(Candidates.of(wanted).packed())
    if size > LARGEST_CANDIDATES:
        raise Invalid(
            f"{path}labels",
            f"must have at most {LARGEST_CANDIDATES} bytes with role and cluster name, not {size}",
        )


def check_release(named: ReleaseCoordinator, path: str = "") -> None:
    """Refuse what names no key or no role."""
    _check_names(named, path)


def check_assignments(command: AssignCoordinators) -> None:
    """Refuse a batch that is too long, or has a wrong item, and say which one it is."""
    check_count(command)
    for position, wanted in enumerate(command.coordinators):
        check_assignment(wanted, f"coordinators[{position}].")


def check_releases(command: ReleaseCoordinators) -> None:
    """Refuse a batch with a wrong item, and say which one it is."""
    for position, named in enumerate(command.coordinators):
        check_release(named, f"coordinators[{position}].")


def check_count(command: AssignCoordinators) -> None:
    """Refuse a batch that is too long."""
    count = len(command.coordinators)
    if count > MOST_ASSIGNMENTS:
        raise Invalid("coordinators", f"must be at most {MOST_ASSIGNMENTS}, not {count}")


def check_list(request: ListCoordinatorsRequest) -> None:
    """Refuse a list of what cannot be there."""
    check_wanted("role", request.role)
    check_wanted("broker", request.broker)
    if len(request.page_token) > LONGEST_TOKEN:
        raise Invalid("page_token", "is none that a page was answered with")


def _check_names(named: AssignCoordinator | ReleaseCoordinator, path: str) -> None:
    check_text(f"{path}role", named.role)
    if not named.key:
        raise Invalid(f"{path}key", "must not be empty")
    if not named.key.isprintable():
        raise Invalid(f"{path}key", "must not hold control characters or line breaks")
    size = len(named.key.encode())
    if size > LONGEST_KEY:
        raise Invalid(f"{path}key", f"must have at most {LONGEST_KEY} bytes, not {size}")
