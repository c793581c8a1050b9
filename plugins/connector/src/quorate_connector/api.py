"""The public API for other plugins, which add connector types to the extension point.

A type is a name and a pydantic model of its configuration, in which a secret is a `SecretRef`. The
message of a validator must not repeat the value: it may be a secret.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Self

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema
from quorate.plugin import Extension

#: The extension point.
TYPES: Final = "connector.types"

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")
_REFERENCE: Final = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]{0,254}|file:/[^\x00-\x1f\x7f]{1,1023}")


class SecretRef(str):
    """A reference to a secret on a worker: `env:NAME` or `file:/PATH`, never the secret itself."""

    __slots__ = ()

    @property
    def source(self) -> str:
        """Return the kind of the reference: `env` or `file`."""
        return self.partition(":")[0]

    @property
    def place(self) -> str:
        """Return the name of the variable, or the path of the file."""
        return self.partition(":")[2]

    @classmethod
    def of(cls, text: str) -> Self:
        """Parse a reference; raises `ValueError`, which does not repeat the text."""
        if not _REFERENCE.fullmatch(text):
            raise ValueError(
                "must refer to a secret, as env:NAME or file:/PATH, and must not hold one"
            )
        return cls(text)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(
            cls.of, core_schema.str_schema(), serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(schema), "pattern": f"^({_REFERENCE.pattern})$"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorType:
    """A connector type: its name and the model of its configuration."""

    name: str
    #: Forbids unknown fields: a misspelled field must be an error.
    model: type[BaseModel]
    #: Fields of the model, as configurations name them, that progress depends on: with another
    #: topic a cursor means something else. A change of one of them discards progress.
    progress_of: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"connector type {self.name!r}: a name is small letters, digits and '_', begins "
                "with a letter and has at most 63 characters"
            )
        if self.model.model_config.get("extra") != "forbid":
            raise ValueError(
                f'connector type {self.name}: {self.model.__name__} must have extra="forbid"'
            )
        fields = self.model.model_fields.items()
        named = {field.serialization_alias or name for name, field in fields}
        unknown = sorted(set(self.progress_of) - named)
        if unknown:
            raise ValueError(
                f"connector type {self.name}: progress_of names {', '.join(unknown)}, but "
                f"{self.model.__name__} has no such field"
            )
        if _holds_secrets(self.model.model_json_schema()):
            raise ValueError(
                f"connector type {self.name}: {self.model.__name__} holds secrets themselves; "
                "make them SecretRef, which a worker resolves"
            )

    @property
    def extension(self) -> Extension:
        """Return the extension by which a plugin declares this type."""
        return Extension(point=TYPES, name=self.name, value=self)


def _holds_secrets(schema: object) -> bool:
    """Return whether a schema has a field of format `password`, as pydantic's secret types have."""
    if isinstance(schema, dict):
        return schema.get("format") == "password" or any(map(_holds_secrets, schema.values()))
    return isinstance(schema, list) and any(map(_holds_secrets, schema))
