"""The type `redis_stream`: messages are added to a Redis stream."""

import re
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from quorate_connector.api import ConnectorType, SecretRef

_ADDRESS: Final = re.compile(r"[A-Za-z0-9.-]+:\d{1,5}")


def _address(text: str) -> str:
    # The message of a validator must not repeat the value: it may be a misplaced secret.
    if not _ADDRESS.fullmatch(text):
        raise ValueError("must be HOST:PORT")
    return text


class RedisStreamConfig(BaseModel):
    """A Redis stream to which messages are added."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    topic: str = Field(min_length=1, description="Where the messages come from.")
    address: Annotated[str, AfterValidator(_address)] = Field(
        description="The server, as HOST:PORT."
    )
    stream: str = Field(min_length=1, max_length=512, description="The key of the stream.")
    longest: int = Field(0, ge=0, description="Approximate number of entries to keep; 0 keeps all.")
    username: str = Field("", description="The user to log in as; empty for the default user.")
    password: SecretRef | None = Field(None, description="Where the worker finds the password.")


REDIS_STREAM: Final = ConnectorType(
    name="redis_stream", model=RedisStreamConfig, progress_of=("topic", "stream")
)
