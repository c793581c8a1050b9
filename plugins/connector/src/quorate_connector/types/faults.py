"""What is wrong with a configuration, in words that repeat no value: it may be a secret."""

from collections.abc import Sequence
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from quorate.plugin import Invalid

#: Where the configuration stands in a request.
FIELD: Final = "definition.config"
#: Of the name of a field, which is the user's where a table has any names.
_LONGEST_PART: Final = 64

_WORDS: Final = {
    "missing": "is missing",
    "extra_forbidden": "is no field of this type",
    "model_type": "must be a JSON object",
    # What pydantic says of this one has the value in it.
    "union_tag_invalid": "is of no kind that this type knows",
}

#: How what pydantic says is turned, so that it goes on after the name of a field.
_TURNS: Final = (
    ("Invalid JSON", "must be JSON"),
    ("Input should", "must"),
    ("String should", "must"),
)
#: What pydantic adds to the path of a fault in the key of a table.
_KEY: Final = "[key]"


def invalid(error: ValidationError) -> Invalid:
    """Return the refusal that names every wrong field; a single one is the field of the refusal."""
    found = named(faults_of(error))
    assert found is not None
    return found


def named(faults: Sequence[tuple[str, str]]) -> Invalid | None:
    """Return the refusal of faults, each with the path of its field; None without any."""
    if not faults:
        return None
    if len(faults) == 1:
        [(path, words)] = faults
        return Invalid(f"{FIELD}.{path}" if path else FIELD, words)
    text = "; ".join(f"{path} {words}" for path, words in faults)
    return Invalid(FIELD, f"{len(faults)} fields are wrong: {text}")


def faults_of(error: ValidationError) -> list[tuple[str, str]]:
    """Return the path of every wrong field, and what is wrong with it."""
    return [
        (path_of(fault["loc"]), _words(fault))
        for fault in error.errors(include_url=False, include_input=False, include_context=False)
    ]


def path_of(parts: Sequence[int | str]) -> str:
    """Return the path of a field as it is shown."""
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
