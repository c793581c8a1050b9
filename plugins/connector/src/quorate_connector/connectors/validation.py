"""What is wrong with a request or command whatever the rows say."""

from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar

from quorate.plugin import Invalid, Updates

from quorate_connector.names import check_name, check_text
from quorate_connector.types.checking import LARGEST_CONFIG
from quorate_connector.v1.connectors_pb2 import (
    CreateConnector,
    CreateConnectors,
    Definition,
    DeleteConnectors,
    Label,
    PutConnector,
    PutConnectors,
    RestartTasks,
    RollBackConnector,
    SetConnectorTarget,
    Target,
    UpdateConnector,
    UpdateConnectors,
)

T = TypeVar("T")

UPDATES: Final = Updates(
    fixed=frozenset({"tenant", "name", "expected_version", "discard_progress"})
)

MOST_TASKS: Final = 1_000
MOST_LABELS: Final = 16
#: Of a name or a value, in bytes.
LONGEST_LABEL: Final = 128
MOST_FAILURES: Final = 1_000
LONGEST_BACKOFF_MS: Final = 300_000
#: What stands for a number that is not given.
TASKS: Final = 1
FAILURES: Final = 10
BACKOFF_MS: Final = 1_000


class Named(Protocol):
    """What names a connector."""

    @property
    def tenant(self) -> str:
        """Whose it is."""

    @property
    def name(self) -> str:
        """What it is called there."""


def check_named(named: Named, path: str = "") -> None:
    """Refuse what names no connector; `path` is where it stands in a batch."""
    check_name(f"{path}tenant", named.tenant)
    check_name(f"{path}name", named.name)


def check_create(command: CreateConnector | PutConnector, path: str = "") -> None:
    """Refuse a connector that cannot be made."""
    check_named(command, path)
    _check_definition(command.definition, f"{path}definition.")
    if command.target:
        check_target(command.target, path)


def check_update(command: UpdateConnector, path: str = "") -> None:
    """Refuse a change that cannot be made."""
    check_named(command, path)
    _check_definition(command.definition, f"{path}definition.")


def check_creates(command: CreateConnectors | PutConnectors) -> None:
    """Refuse a batch with a wrong connector, and say which one it is."""
    connectors: Sequence[CreateConnector | PutConnector] = command.connectors
    _check_each(connectors, check_create)


def check_updates(command: UpdateConnectors) -> None:
    """Refuse a batch with a wrong change, and say which one it is."""
    _check_each(command.connectors, check_update)


def check_deletes(command: DeleteConnectors) -> None:
    """Refuse a batch that names no connector, and say where."""
    _check_each(command.connectors, check_named)


def check_roll_back(command: RollBackConnector) -> None:
    """Refuse to go back to nothing."""
    check_named(command)
    if command.version == 0:
        raise Invalid("version", "must be one of the versions that are kept")


def check_set_target(command: SetConnectorTarget) -> None:
    """Refuse a target that is none."""
    check_named(command)
    check_target(command.target)


def check_restart(command: RestartTasks) -> None:
    """Refuse to start again what no connector can have."""
    check_named(command)
    if len(command.tasks) > MOST_TASKS:
        raise Invalid("tasks", f"must be at most {MOST_TASKS}, not {len(command.tasks)}")


def check_target(target: int, path: str = "") -> None:
    """Refuse a target that is unspecified or unknown here."""
    if not target or target not in Target.values():
        raise Invalid(f"{path}target", f"must be one of {', '.join(Target.keys()[1:])}")


def completed(definition: Definition) -> Definition:
    """Return a definition with the numbers that are not given."""
    complete = Definition()
    complete.CopyFrom(definition)
    complete.tasks_max = complete.tasks_max or TASKS
    complete.failures_max = complete.failures_max or FAILURES
    complete.backoff_ms = complete.backoff_ms or BACKOFF_MS
    return complete


def _check_definition(definition: Definition, path: str) -> None:
    if not definition.type:
        raise Invalid(f"{path}type", "must not be empty")
    size = len(definition.config)
    if size > LARGEST_CONFIG:
        raise Invalid(f"{path}config", f"must have at most {LARGEST_CONFIG} bytes, not {size}")
    _check_range(f"{path}tasks_max", definition.tasks_max, MOST_TASKS)
    _check_range(f"{path}failures_max", definition.failures_max, MOST_FAILURES)
    _check_range(f"{path}backoff_ms", definition.backoff_ms, LONGEST_BACKOFF_MS)
    _check_labels(f"{path}labels", definition.labels)


def _check_range(field: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise Invalid(field, f"must be from 1 to {most}, not {value}")


def _check_labels(field: str, labels: Sequence[Label]) -> None:
    if len(labels) > MOST_LABELS:
        raise Invalid(field, f"must be at most {MOST_LABELS}, not {len(labels)}")
    seen = set()
    for position, label in enumerate(labels):
        check_text(f"{field}[{position}].name", label.name, LONGEST_LABEL)
        if label.value:
            check_text(f"{field}[{position}].value", label.value, LONGEST_LABEL)
        if label.name in seen:
            raise Invalid(f"{field}[{position}].name", "stands there twice")
        seen.add(label.name)


def _check_each(items: Sequence[T], check: Callable[[T, str], None]) -> None:
    for position, item in enumerate(items):
        check(item, f"connectors[{position}].")
