"""Secrets, which the worker alone resolves, and only if it allows their references.

A user who may define a connector chooses its destination, and could have any secret sent there:
the worker decides which secrets connectors may use.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from quorate_connector.api import SecretRef

#: By default, connectors may use the variables with this prefix.
PREFIX: Final = "QUORATE_SECRET_"
#: The size limit of a secret file, in bytes.
LARGEST: Final = 64 << 10

_ENVIRONMENT: Final = "env"
_ANY: Final = "*"


class SecretError(LookupError):
    """A reference that resolves to no secret on this worker; the text names the reference only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedSecrets:
    """The variables and files that connectors may refer to on a worker; others are refused."""

    #: Names of variables; a trailing `*` matches every name with the prefix before it.
    variables: tuple[str, ...] = (f"{PREFIX}{_ANY}",)
    #: Absolute paths. Files below them are allowed; links are followed, but must stay below them.
    directories: tuple[str | Path, ...] = ()

    def __post_init__(self) -> None:
        given: tuple[object, ...] = (self.variables, self.directories)
        if not all(isinstance(each, tuple) for each in given):
            # A string would be read as a sequence: its letters as names, its slash as a directory.
            raise TypeError("variables and directories of AllowedSecrets must be tuples")
        for directory in self.directories:
            if not Path(directory).is_absolute():
                raise ValueError(
                    f"directory {str(directory)!r} of AllowedSecrets must be an absolute path"
                )

    async def resolve(self, reference: SecretRef) -> str:
        """Resolve a reference to its secret; trailing line ends of a file are stripped.

        Raises `SecretError` if it is not allowed, or missing.
        """
        if reference.source == _ENVIRONMENT:
            secret = self._variable(reference)
        else:
            secret = await asyncio.to_thread(self._file, reference)
        if not secret:
            raise SecretError(
                f"the secret {reference} is missing or empty on this worker; provide it where the "
                "worker runs"
            )
        return secret

    def _variable(self, reference: SecretRef) -> str:
        name = reference.place
        if not any(_fits(name, allowed) for allowed in self.variables):
            raise SecretError(
                f"the secret {reference} is not allowed on this worker; give ConnectorWorker "
                f"secrets=AllowedSecrets(variables=...) with {name}, or refer to one of "
                f"{', '.join(self.variables) or 'no variables'}"
            )
        return os.environ.get(name, "")

    def _file(self, reference: SecretRef) -> str:
        # Links and `..` are resolved once, before the check of the location.
        path = os.path.realpath(reference.place)
        if not any(Path(path).is_relative_to(os.path.realpath(each)) for each in self.directories):
            raise SecretError(
                f"the secret {reference} is not allowed on this worker; give ConnectorWorker "
                "secrets=AllowedSecrets(directories=...) with the real directory of the file"
            )
        try:
            content = _read(path)
            if len(content) > LARGEST:
                raise SecretError(
                    f"the secret {reference} is too large; the file must have at most {LARGEST} "
                    "bytes"
                )
            return content.decode().rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise SecretError(
                f"the secret {reference} cannot be read on this worker "
                f"({type(error).__name__}); make the file readable text"
            ) from None


def _fits(name: str, allowed: str) -> bool:
    if allowed.endswith(_ANY):
        return name.startswith(allowed.removesuffix(_ANY))
    return name == allowed


def _read(path: str) -> bytes:
    """Read a file, up to one byte more than the size limit."""
    if not Path(path).is_file():
        # A pipe without a writer would block for ever.
        raise FileNotFoundError
    with Path(path).open("rb") as file:
        return file.read(LARGEST + 1)
