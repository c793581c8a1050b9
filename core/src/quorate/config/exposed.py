"""Files with secrets that every user of the machine can read."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from quorate.config.settings import Settings

#: Endings of the names of settings whose files hold only a secret.
_SECRET: Final = ("key_file", "token_file")
#: A certificate may have its key in the same file.
_KEY: Final = b"PRIVATE KEY"
#: Keys are smaller; content beyond this is not searched.
_LOOKED_AT: Final = 1 << 20


def exposed(settings: Settings, file: Path | None = None) -> Iterator[tuple[str, Path]]:
    """Yield each setting whose file holds a secret and can be read by all users, with its path.

    `file` is the configuration file itself, which may hold secrets, too.
    """
    if file is not None and _is_open(file) and _holds(file, settings.secrets()):
        yield "the configuration file", file
    for setting, path in settings.secret_files.items():
        if _is_open(path):
            yield setting, path
    sections = [(name, value) for name, value in settings if isinstance(value, BaseModel)]
    plugins = ((f"plugins.{name}", value) for name, value in settings.plugin_sections.items())
    for section, values in (*sections, *plugins):
        for name, value in values:
            if not name.endswith("_file") or not value or not _is_open(path := Path(value)):
                continue
            if name.endswith(_SECRET) or _holds(path, [_KEY.decode()]):
                yield f"{section}.{name}", path


def _is_open(path: Path) -> bool:
    """Return whether users other than a file's owner and group can read it."""
    try:
        path = path.absolute()
        readable = path.stat().st_mode & stat.S_IROTH
        return bool(readable) and all(each.stat().st_mode & stat.S_IXOTH for each in path.parents)
    except OSError:
        return False


def _holds(path: Path, secrets: list[str]) -> bool:
    try:
        with path.open("rb") as file:
            content = file.read(_LOOKED_AT)
    except OSError:
        return False
    return any(each.encode() in content for each in secrets)
