"""Validation faults of a configuration; the text repeats no value, which may be a secret."""

from collections.abc import Sequence
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from quorate.plugin import Invalid

#: The path of the configuration in a request.
FIELD: Final = "definition.config"
#: The longest field name shown; in a table of arbitrary keys the user chooses the names.
_LONGEST_PART: Final = 64

_WORDS: Final = {
    "missing": "is missing",
    "extra_forbidden": "is not a field of this type",
    "model_type": "must be a JSON object",
    # The message of pydantic contains the value.
    "union_tag_invalid": "is of no kind that this type knows",
}

#: Rewrites the start of a pydantic message so that it continues after a field name.
_TURNS: Final = (
    ("Invalid JSON", "must be JSON"),
    ("Input should", "must"),
    ("String should", "must"),
)
#: The part that pydantic appends to the path of a fault in a key of a table.
_KEY: Final = "[key]"


def invalid(error: ValidationError) -> Invalid:
    """Return a refusal that names every invalid field; one field alone is that of the refusal."""
    found = named(faults_of(error))
    assert found is not None
    return found


def named(faults: Sequence[tuple[str, str]]) -> Invalid | None:
    """Return the refusal for faults, each with the path of its field; None if there are none."""
    if not faults:
        return None
    if len(faults) == 1:
        [(path, words)] = faults
        return Invalid(f"{FIELD}.{path}" if path else FIELD, words)
    text = "; ".join(f"{path} {words}" for path, words in faults)
    return Invalid(FIELD, f"{len(faults)} fields are wrong: {text}")


def faults_of(error: ValidationError) -> list[tuple[str, str]]:
    """Return the path and the fault of every invalid field."""
    return [
        (path_of(fault["loc"]), _words(fault))
        for fault in error.errors(include_url=False, include_input=False, include_context=False)
    ]


def path_of(parts: Sequence[int | str]) -> str:
    """Return the path of a field as displayed."""
    path = ""
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part != _KEY:
            shown = part.encode("unicode_escape").decode()[:_LONGEST_PART]
            path += f".{shown}" if path else shown
    return path


def _words(fault: ErrorDetails) -> str:
    known = _WORDS.get(fault["type"])
    if known is not None:
        return known
    said = fault["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    for theirs, ours in _TURNS:
        said = said.replace(theirs, ours)
    return said
