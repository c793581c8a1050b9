"""What is wrong with a command whatever the rows say; it is refused before it is logged."""

from typing import Final

from quorate.builtin.cluster.coordinators.rows import Candidates
from quorate.builtin.cluster.validation import check_labels, check_text, check_wanted
from quorate.plugin import Invalid
from quorate.plugin.checking import check_each
from quorate.v1 import coordinator_pb2 as pb

#: Each may have to be weighed against every live broker.
MOST_ASSIGNMENTS: Final = 1_000
LONGEST_KEY: Final = 1_024
#: Role, cluster name and labels together, as they are packed.
LARGEST_CANDIDATES: Final = 1_024


def check_assignment(wanted: pb.AssignCoordinator, path: str = "") -> None:
    """Refuse what names no key or no role, or more labels than fit."""
    check_text(f"{path}role", wanted.role)
    check_key(f"{path}key", wanted.key)
    check_wanted(f"{path}cluster_name", wanted.cluster_name)
    check_labels(f"{path}labels", wanted.labels)
    size = len(Candidates.of(wanted).packed())
    if size > LARGEST_CANDIDATES:
        raise Invalid(
            f"{path}labels",
            f"must have at most {LARGEST_CANDIDATES} bytes with role and cluster name, not {size}",
        )


def check_assignments(command: pb.AssignCoordinators) -> None:
    """Refuse a batch that is too long, or has a wrong item, and say which one it is."""
    check_count(command)
    check_each("coordinators", command.coordinators, check_assignment)


def check_count(command: pb.AssignCoordinators) -> None:
    """Refuse a batch that is too long."""
    count = len(command.coordinators)
    if count > MOST_ASSIGNMENTS:
        raise Invalid("coordinators", f"must be at most {MOST_ASSIGNMENTS}, not {count}")


def check_key(field: str, key: str) -> None:
    """Refuse what cannot be coordinated."""
    if not key:
        raise Invalid(field, "must not be empty")
    if not key.isprintable():
        raise Invalid(field, "must not hold control characters or line breaks")
    size = len(key.encode())
    if size > LONGEST_KEY:
        raise Invalid(field, f"must have at most {LONGEST_KEY} bytes, not {size}")
