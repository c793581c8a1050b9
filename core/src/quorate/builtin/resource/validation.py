"""What is wrong with a request whatever the rows say; it is refused before it is logged."""

import re
from collections.abc import Collection
from typing import Final

from quorate.plugin import Invalid
from quorate.v1.resource_pb2 import (
    DeleteResource,
    DeleteResources,
    GetResource,
    GetResources,
    ListResources,
    PutResource,
    PutResources,
)

LONGEST_PATH: Final = 512
LARGEST_VALUE: Final = 64 * 1024
#: Their values together fit into one message.
MOST_PATHS: Final = 100
LARGEST_PAGE: Final = 1_000

_PATH: Final = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")


def check_put(command: PutResource, field: str = "") -> None:
    """Refuse a path that is none, and a value that is too large."""
    _check_path(f"{field}path", command.path)
    if len(command.value) > LARGEST_VALUE:
        size = len(command.value)
        raise Invalid(f"{field}value", f"must have at most {LARGEST_VALUE} bytes, not {size}")


def check_puts(command: PutResources) -> None:
    """Refuse a batch with a wrong item, and say which one it is."""
    _check_any("puts", command.puts)
    for position, put in enumerate(command.puts):
        check_put(put, f"puts[{position}].")


def check_delete(command: DeleteResource, field: str = "") -> None:
    """Refuse a path that is none, and a revision that no resource has."""
    _check_path(f"{field}path", command.path)
    if command.HasField("expected_revision") and command.expected_revision == 0:
        raise Invalid(
            f"{field}expected_revision", "must be that of a resource, or absent for any revision"
        )


def check_deletes(command: DeleteResources) -> None:
    """Refuse a batch with a wrong item, and say which one it is."""
    _check_any("deletions", command.deletions)
    for position, deletion in enumerate(command.deletions):
        check_delete(deletion, f"deletions[{position}].")


def check_get(request: GetResource) -> None:
    """Refuse a path that is none."""
    _check_path("path", request.path)


def check_gets(request: GetResources) -> None:
    """Refuse more paths than one answer can hold."""
    _check_any("paths", request.paths)
    if len(request.paths) > MOST_PATHS:
        raise Invalid("paths", f"must be at most {MOST_PATHS}, not {len(request.paths)}")
    for position, path in enumerate(request.paths):
        _check_path(f"paths[{position}]", path)


def check_list(request: ListResources) -> None:
    """Refuse a prefix and a position that no path can have, and a page that is too large."""
    for field, text in (("prefix", request.prefix), ("after", request.after)):
        if len(text) > LONGEST_PATH:
            raise Invalid(field, f"must have at most {LONGEST_PATH} characters, not {len(text)}")
    if request.limit > LARGEST_PAGE:
        raise Invalid("limit", f"must be at most {LARGEST_PAGE}, not {request.limit}")


def _check_any(field: str, items: Collection[object]) -> None:
    if not items:
        raise Invalid(field, "must not be empty")


def _check_path(field: str, path: str) -> None:
    if not path:
        raise Invalid(field, "must not be empty")
    if len(path) > LONGEST_PATH:
        raise Invalid(field, f"must have at most {LONGEST_PATH} characters, not {len(path)}")
    if not _PATH.fullmatch(path):
        raise Invalid(field, "must be names of letters, digits, '.', '_' and '-', joined by '/'")
