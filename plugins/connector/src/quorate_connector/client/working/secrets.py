"""Secrets: read where their references say, by the worker and nobody else, if it allows that.

A user who may define a connector says where its messages go, and could have any secret sent there:
the worker says which ones are for connectors.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from quorate_connector.api import SecretRef

#: Variables whose names begin so are for connectors, unless a worker says otherwise.
PREFIX: Final = "QUORATE_SECRET_"
#: Of a file, in bytes.
LARGEST: Final = 64 << 10

_ENVIRONMENT: Final = "env"
_ANY: Final = "*"


class SecretError(LookupError):
    """A reference leads to no secret on this worker; it tells the reference alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedSecrets:
    """What references of connectors may lead to on a worker; anything else is refused."""

    #: Names of variables; one that ends with `*` stands for all that begin with what is before it.
    variables: tuple[str, ...] = (f"{PREFIX}{_ANY}",)
    #: Absolute paths. Files below them are allowed, wherever links lead that stay below them.
    directories: tuple[str | Path, ...] = ()

    def __post_init__(self) -> None:
        given: tuple[object, ...] = (self.variables, self.directories)
        if not all(isinstance(each, tuple) for each in given):
            # The letters of a text would be taken for names, and its slash for a directory.
            raise TypeError("variables and directories of AllowedSecrets are tuples")
        for directory in self.directories:
            if not Path(directory).is_absolute():
                raise ValueError(
                    f"directory {str(directory)!r} of AllowedSecrets must be an absolute path"
                )

    async def resolve(self, reference: SecretRef) -> str:
        """Return the secret that a reference stands for; of a file without the line's end.

        Raises `SecretError` when it is not allowed, or not there.
        """
        if reference.source == _ENVIRONMENT:
            secret = self._variable(reference)
        else:
            secret = await asyncio.to_thread(self._file, reference)
        if not secret:
            raise SecretError(
                f"the secret {reference} is not there on this worker, or is empty; provide it "
                "where the worker runs"
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
        # Links and `..` are followed before it is looked where the file is, and never again.
        path = os.path.realpath(reference.place)
        if not any(Path(path).is_relative_to(os.path.realpath(each)) for each in self.directories):
            raise SecretError(
                f"the secret {reference} is not allowed on this worker; give ConnectorWorker "
                "secrets=AllowedSecrets(directories=...) with the directory where it really is"
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
    """Return what is in a file, one byte more than is allowed at most."""
    if not Path(path).is_file():
        # Nobody may ever write into a pipe.
        raise FileNotFoundError
    with Path(path).open("rb") as file:
        return file.read(LARGEST + 1)
