"""Secrets: read where their references say, by the worker and nobody else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from quorate_connector.api import SecretRef

_ENVIRONMENT: Final = "env"


class SecretError(LookupError):
    """A reference leads to no secret on this worker; it tells the reference alone."""


def resolve(reference: SecretRef) -> str:
    """Return the secret that a reference stands for; of a file without the line's end."""
    if reference.source == _ENVIRONMENT:
        secret = os.environ.get(reference.place, "")
    else:
        try:
            secret = Path(reference.place).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise SecretError(
                f"the secret {reference} cannot be read on this worker "
                f"({type(error).__name__}); make the file readable text"
            ) from None
    if not secret:
        raise SecretError(
            f"the secret {reference} is not there on this worker, or is empty; provide it where "
            "the worker runs"
        )
    return secret
