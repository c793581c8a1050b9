"""The TOML file that defines a connector."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, Literal

import click
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from quorate_connector.types.faults import faults_of
from quorate_connector.v1 import connectors_pb2 as pb


class DefinitionFile(BaseModel):
    """The contents of a definition file; the service validates the rest."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    tenant: str
    name: str
    type: str
    tasks_max: int = Field(0, ge=0, lt=1 << 32)
    failures_max: int = Field(0, ge=0, lt=1 << 32)
    backoff_ms: int = Field(0, ge=0, lt=1 << 63)
    #: Applies only when the connector is created.
    target: Literal["running", "paused", "stopped"] = "running"
    labels: dict[str, str] = {}
    config: dict[str, JsonValue] = {}

    @property
    def named(self) -> dict[str, Any]:
        """Return the fields of a request: the tenant, the name and the definition."""
        return {"tenant": self.tenant, "name": self.name, "definition": self.definition}

    @property
    def definition(self) -> pb.Definition:
        """Return the definition, which the service completes."""
        return pb.Definition(
            type=self.type,
            config=json.dumps(self.config).encode(),
            tasks_max=self.tasks_max,
            labels=[pb.Label(name=name, value=value) for name, value in self.labels.items()],
            failures_max=self.failures_max,
            backoff_ms=self.backoff_ms,
        )


def read(path: Path) -> DefinitionFile:
    """Read a definition file; raises `UsageError`, which names the faults and repeats no value."""
    try:
        return DefinitionFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise click.UsageError(f"{path} cannot be read: {error}") from None
    except ValidationError as error:
        faults = "; ".join(f"{field} {words}" for field, words in faults_of(error))
    raise click.UsageError(f"{path} does not define a connector: {faults}")
