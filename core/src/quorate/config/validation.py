"""Turns a tree of values into models, and pydantic's errors into problems with a place."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar, get_args, get_origin

from pydantic import BaseModel, SecretBytes, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, to_json

from quorate.config.fields import CLASH
from quorate.config.positions import Path

M = TypeVar("M", bound=BaseModel)
V = TypeVar("V")

#: Types of defaults that a message can quote.
_SHOWABLE = (bool, int, float, str)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigProblem:
    """One mistake, its place, and the remedy."""

    #: The file as the caller named it; None if the value is in no file.
    file: str | None = None
    #: The line in the file, counted from 1; None where the file holds no such line.
    line: int | None = None
    #: The column, counted from 1; only syntax errors know it.
    column: int | None = None
    #: The environment variable that holds the value, if the file does not.
    variable: str | None = None
    #: The dotted key (`timing.heartbeat_ms`); empty when the file as a whole is meant.
    key: str = ""
    what: str
    fix: str

    def __str__(self) -> str:
        """Return one line: place, key, mistake, remedy."""
        place = self.variable or self.file or "configuration"
        if self.variable is None and self.line is not None:
            place += f":{self.line}" if self.column is None else f":{self.line}:{self.column}"
        return ": ".join(part for part in (place, self.key, f"{self.what}; {self.fix}") if part)


class ConfigError(Exception):
    """The configuration cannot be used; holds every problem that was found, in file order."""

    def __init__(self, problems: Iterable[ConfigProblem]) -> None:
        self.problems = tuple(sorted(problems, key=_place))
        super().__init__("\n".join(map(str, self.problems)))


def _place(problem: ConfigProblem) -> tuple[bool, int, str, str]:
    return (problem.variable is not None, problem.line or 0, problem.variable or "", problem.key)


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins of the values of a tree."""

    #: The file as the caller named it.
    file: str | None
    #: The line of each key that the file sets.
    lines: Mapping[Path, int]
    #: The variable of each key that the environment sets.
    variables: Mapping[Path, str]

    def knows(self, path: Path) -> bool:
        """Return whether the user has set exactly this key."""
        return path in self.lines or _nearest(self.variables, path) is not None

    def problem(self, path: Path, what: str, fix: str) -> ConfigProblem:
        """Return a problem of the key at `path`, at the nearest known place."""
        variable = _nearest(self.variables, path)
        if variable is None and path not in self.lines:
            beneath = (v for known, v in self.variables.items() if known[: len(path)] == path)
            variable = next(beneath, None)
        line = _nearest(self.lines, path)
        return ConfigProblem(
            file=None if variable else self.file,
            line=None if variable else line,
            variable=variable,
            key=dotted(path),
            what=what,
            fix=fix,
        )


def _nearest(known: Mapping[Path, V], path: Path) -> V | None:
    """Return the value of the longest beginning of a path that is known."""
    ends = range(len(path), 0, -1)
    return next((known[path[:end]] for end in ends if path[:end] in known), None)


def dotted(path: Path) -> str:
    """Return the path as a user writes it: `plugins.enabled[1]`."""
    return "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in path
    ).removeprefix(".")


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the remedy for an unknown name: the nearest known one, or else all of them."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"known are {', '.join(names)}" if names else "remove it"


def check(
    model: type[M], values: object, path: Path, origins: Origins
) -> tuple[M | None, list[ConfigProblem]]:
    """Return a model of the values at `path`; None if there are problems.

    Types are strict, since TOML has its own: a number in quotes is not a number.
    """
    document = to_json(values, inf_nan_mode="constants")
    try:
        return model.model_validate_json(document, strict=True), []
    except ValidationError as error:
        return None, [_problem(model, values, detail, path, origins) for detail in error.errors()]


def _problem(
    model: type[BaseModel], values: object, detail: ErrorDetails, path: Path, origins: Origins
) -> ConfigProblem:
    kind, relative, context = detail["type"], detail["loc"], detail.get("ctx", {})
    location = (*path, *relative)
    if kind == CLASH:
        parent = location[:-1]
        blamed = [(*parent, *key) for key in context["keys"]]
        location = next(filter(origins.knows, blamed), blamed[0])
        return origins.problem(location, context["what"], context["fix"])
    if kind == "extra_forbidden":
        siblings = _models(_annotation(model, relative[:-1]))
        known = (name for sibling in siblings for name in _fields(sibling))
        word = "section" if len(location) == 1 else "setting"
        fix = suggestion(str(relative[-1]), known)
        return origins.problem(location, f"unknown {word}", fix)
    if kind == "missing":
        return origins.problem(location, "is required", _purpose(model, relative))
    relative = _present(values, relative)
    location = (*path, *relative)
    variable = origins.variables.get(location)
    what = _reason(detail) + _shown(detail["input"], _annotation(model, relative))
    if variable and kind == "string_type":
        return origins.problem(location, what, f"quote it twice: {variable}='\"...\"'")
    return origins.problem(location, what, _advice(model, relative))


def _reason(detail: ErrorDetails) -> str:
    error = detail.get("ctx", {}).get("error")
    reason = str(error) if isinstance(error, Exception) else detail["msg"]
    reason = reason.replace("Input should be", "must be").replace("should ", "must ")
    reason = reason.replace("a valid dictionary", "a table").replace("an object", "a table")
    reason = reason.replace("a valid array", "an array").replace("a valid tuple", "an array")
    return reason[:1].lower() + reason[1:]


def _shown(value: object, annotation: object) -> str:
    if holds_secret(annotation):
        return ""
    if isinstance(value, dict | list):
        return ", not a table" if isinstance(value, dict) else ", not an array"
    return f", not {_written(value)}"


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _advice(model: type[BaseModel], path: Path) -> str:
    field = _field(model, path)
    if field is None or holds_secret(field.annotation) or type(field.default) not in _SHOWABLE:
        return "see `quorate config get --schema`"
    return f"leave it out for the default, {_written(field.default)}"


def _purpose(model: type[BaseModel], path: Path) -> str:
    field = _field(model, path)
    purpose = field.description if field is not None and field.description else "a value"
    return f"set it: {purpose.removesuffix('.')}"


def _present(values: object, path: Path) -> Path:
    """Cut the path where the values end: pydantic adds the branches of a union, and `[key]`."""
    for depth, part in enumerate(path):
        is_key = isinstance(values, dict) and part in values
        is_index = isinstance(values, list) and isinstance(part, int) and part < len(values)
        if not is_key and not is_index:
            return path[:depth]
        values = values[part]  # type: ignore[index]
    return path


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _field(model: type[BaseModel], path: Path) -> FieldInfo | None:
    field: FieldInfo | None = None
    annotation: object = model
    for part in path:
        found = next(
            (
                fields[part]
                for m in _models(annotation)
                if (fields := _fields(m)) and part in fields
            ),
            None,
        )
        if found is not None:
            field, annotation = found, found.annotation
    return field


def _annotation(model: type[BaseModel], path: Path) -> object:
    """Return the type of the value at the path, also of an element of a table or array."""
    field = _field(model, path)
    return model if field is None else field.annotation


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    """Yield the models that a type names, itself or as arguments."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def holds_secret(annotation: object) -> bool:
    """Return whether values of this type are not to be shown."""
    if isinstance(annotation, type) and get_origin(annotation) is None:
        if issubclass(annotation, SecretStr | SecretBytes):
            return True
        if issubclass(annotation, BaseModel):
            return any(holds_secret(f.annotation) for f in annotation.model_fields.values())
    return any(holds_secret(argument) for argument in get_args(annotation))
