"""The types of settings, and the error for settings that contradict each other."""

import re
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError

KIB: Final = 1024
MIB: Final = 1024 * KIB

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_.-]*$", max_length=64)]
PositiveInt = Annotated[int, Field(ge=1)]
NonNegativeInt = Annotated[int, Field(ge=0)]

#: The type of the errors that `clash` makes.
CLASH: Final = "clash"


def clash(what: str, fix: str, *keys: tuple[str, ...]) -> PydanticCustomError:
    """Return the error for settings that contradict each other.

    `keys` are relative to the model that raises; the first one that the user has set is blamed.
    """
    return PydanticCustomError(CLASH, "{what}", {"what": what, "fix": fix, "keys": keys})


def unwrapped(text: str) -> str:
    """Return a text with each paragraph on one line."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text)


class Section(BaseModel):
    """The base of every core section: frozen, and without unknown keys.

    The docstring below a setting describes it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        for field in cls.model_fields.values():
            field.description = field.description and unwrapped(field.description)
