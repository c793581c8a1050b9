"""The fields that several types share."""

import re
from typing import Annotated, Final

from pydantic import AfterValidator, ConfigDict, Field

_ADDRESS: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})")

#: Of every shipped model: errors must not show what was given.
MODEL_CONFIG: Final = ConfigDict(
    frozen=True, extra="forbid", hide_input_in_errors=True, allow_inf_nan=False
)


def _address(text: str) -> str:
    found = _ADDRESS.fullmatch(text)
    if found is None or not 0 < int(found[2]) < 65_536:
        raise ValueError("must be HOST:PORT, an IPv6 address in brackets")
    return text


#: Where a server listens.
Address = Annotated[str, AfterValidator(_address)]
#: What the messages come from; what it names is for the worker to say.
Topic = Annotated[
    str,
    Field(min_length=1, max_length=3_072, description="Where the messages come from."),
]
