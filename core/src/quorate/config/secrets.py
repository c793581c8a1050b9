"""Settings that are secrets: read from files of their own, and never shown."""

from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any, Final, get_args

from pydantic import BaseModel, SecretBytes, SecretStr

from quorate.config.positions import Path
from quorate.config.validation import ConfigProblem, Origins

#: The key of the table that replaces a secret.
FILE: Final = "file"
#: A larger file is a wrong file, not a secret.
_LARGEST: Final = 64 << 10
#: Shorter text occurs in ordinary words, and is not treated as a secret.
_SHORTEST: Final = 4


def read_files(
    model: type[BaseModel],
    values: Any,
    path: Path,
    origins: Origins,
    files: dict[str, FilePath],
) -> tuple[Any, list[ConfigProblem]]:
    """Return the values at `path`, with the content of each file that a secret setting names.

    The files are added to `files` by the names of their settings.
    """
    if not isinstance(values, dict):
        return values, []
    found, problems = dict(values), []
    for name, field in model.model_fields.items():
        key = field.alias or name
        value, at = found.get(key), (*path, key)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found[key], inner = read_files(field.annotation, value, at, origins, files)
            problems += inner
            if value is None:
                del found[key]
        elif _is_secret(field.annotation) and isinstance(value, dict) and list(value) == [FILE]:
            try:
                found[key] = _content(value[FILE])
                files[".".join(map(str, at))] = FilePath(value[FILE])
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) else str(error)
                what = f"the secret cannot be read: {str(why).lower()}"
                problems.append(origins.problem((*at, FILE), what, "name a file with it alone"))
                del found[key]
    return found, problems


def secrets_of(section: BaseModel) -> Iterator[str]:
    """Yield the secrets of a section and of the sections in it, except defaults and short ones."""
    for name, field in type(section).model_fields.items():
        value = getattr(section, name, None)
        if isinstance(value, BaseModel):
            yield from secrets_of(value)
        elif isinstance(value, SecretStr) and value != field.default:
            secret = value.get_secret_value()
            if len(secret) >= _SHORTEST:
                yield secret


def _is_secret(annotation: object) -> bool:
    kinds = get_args(annotation) or (annotation,)
    return any(each in (SecretStr, SecretBytes) for each in kinds)


def _content(path: object) -> str:
    if not isinstance(path, str):
        raise ValueError("its file must be named by a string")
    content = FilePath(path).read_bytes()
    if len(content) > _LARGEST:
        raise ValueError(f"{path} has more than {_LARGEST} bytes")
    # Most editors end a file with a line break.
    secret = content.decode().removesuffix("\n").removesuffix("\r")
    if not secret:
        raise ValueError(f"{path} is empty")
    return secret
