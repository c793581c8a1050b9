"""The type `file`: messages are appended to a file of the worker."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, Field

from quorate_connector.api import ConnectorType
from quorate_connector.types.fields import MODEL_CONFIG, Topic


def _absolute(path: str) -> str:
    if not path.startswith("/") or "\0" in path:
        raise ValueError("must be an absolute path")
    return path


class FileConfig(BaseModel):
    """A file to which messages are appended."""

    model_config = MODEL_CONFIG

    topic: Topic
    path: Annotated[str, AfterValidator(_absolute)] = Field(
        min_length=1,
        max_length=4_096,
        description="The file, or its beginning where several tasks write.",
    )
    format: Literal["lines", "json"] = Field(
        "lines", description="One message a line as it is, or as JSON with its key."
    )
    sync: bool = Field(True, description="Whether the file is synced before progress is stored.")


FILE: Final = ConnectorType(name="file", model=FileConfig, progress_of=("topic", "path"))
