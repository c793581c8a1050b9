"""Loads one file and the environment over it, and reports all problems at once."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from quorate.config import positions
from quorate.config.secrets import FILE, read_files, secrets_of
from quorate.config.sections import CoreSections, PluginsSection
from quorate.config.validation import ConfigError, ConfigProblem, Origins, check, suggestion

M = TypeVar("M", bound=BaseModel)

#: Every installed plugin by name, with the model of its section; None: it has no settings.
PluginModels = Mapping[str, type[BaseModel] | None]

#: The prefix of the name of every overriding variable.
PREFIX: Final = "QUORATE__"

_CORE_PLUGIN_KEYS = frozenset(PluginsSection.model_fields)
_SYNTAX_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


class Settings(CoreSections):
    """The configuration in effect; it does not change while the process lives."""

    #: The sections of plugins by plugin name. That of a plugin neither enabled nor configured is
    #: missing if its model has a required setting.
    plugin_sections: Mapping[str, BaseModel]
    #: The files that secrets were read from, by the names of their settings.
    secret_files: Mapping[str, Path]

    def plugin_section(self, model: type[M]) -> M:
        """Return the section of exactly this model; raises `LookupError` if no section has it."""
        for section in self.plugin_sections.values():
            if type(section) is model:
                return section
        raise LookupError(f"no plugin's section has the model {model.__qualname__}")

    def secrets(self) -> list[str]:
        """Return the secrets that must not be in a log."""
        sections = (self, *self.plugin_sections.values())
        return [secret for section in sections for secret in secrets_of(section)]


def section_fault(model: type[BaseModel]) -> str | None:
    """Return why a model cannot be a plugin's section, or None."""
    if model.model_config.get("extra") != "forbid":
        return 'must refuse unknown keys: set extra="forbid" in its model_config'
    if not model.model_config.get("frozen"):
        return "must not change: set frozen=True in its model_config"
    names = {field.alias or name for name, field in model.model_fields.items()}
    undescribed = sorted(name for name, f in model.model_fields.items() if not f.description)
    if undescribed:
        return f"must describe every setting: {', '.join(undescribed)} has no description"
    capitals = sorted(name for name in names if name != name.lower() or "__" in name)
    if capitals:
        return f"must name settings in small letters without '__': {', '.join(capitals)}"
    return None


def load(path: Path | None, sections: PluginModels, environ: Mapping[str, str]) -> Settings:
    """Read the file, lay the environment over it and check all of it; raise ConfigError.

    Without a path there are the defaults and the environment. `sections` names every installed
    plugin; other names in `[plugins]` are problems.
    """
    for name in sorted(_CORE_PLUGIN_KEYS & set(sections)):
        raise ValueError(f"no plugin can be named {name!r}: [plugins] has a setting of that name")
    tree: dict[str, Any] = {}
    lines: Mapping[positions.Path, int] = {}
    if path is not None:
        text = _read(path)
        tree = _parse(path, text)
        lines = positions.lines(text)
    found, problems = overrides(environ)
    applied = [override for override in found if overlay(tree, override)]
    origins = Origins(
        file=None if path is None else str(path),
        lines=lines,
        variables={override.path: override.variable for override in applied},
    )
    settings, faults = _settle(tree, sections, origins)
    if settings is None or problems or faults:
        raise ConfigError([*problems, *faults])
    return settings


def _settle(
    tree: Mapping[str, Any], sections: PluginModels, origins: Origins
) -> tuple[Settings | None, Sequence[ConfigProblem]]:
    """Check core and plugins separately, so that neither hides problems of the other."""
    plugins = tree.get("plugins", {})
    is_table = isinstance(plugins, dict)
    core_plugins = (
        {key: value for key, value in plugins.items() if key in _CORE_PLUGIN_KEYS}
        if is_table
        else plugins
    )
    files: dict[str, Path] = {}
    core_tree = {**tree, "plugins": core_plugins}
    resolved, problems = read_files(CoreSections, core_tree, (), origins, files)
    core, faults = check(CoreSections, resolved, (), origins)
    problems += faults
    problems = [_misplaced(problem, sections) for problem in problems]
    tables = {k: v for k, v in plugins.items() if k not in core_plugins} if is_table else {}
    enabled = plugins.get("enabled") if is_table else None
    enabled = enabled if isinstance(enabled, list) else []
    problems += [
        origins.problem(
            ("plugins", "enabled", index),
            f"no plugin {name!r} is installed",
            _known(name, sections),
        )
        for index, name in enumerate(enabled)
        if isinstance(name, str) and name not in sections
    ]
    problems += [
        _stray(name, table, sections, origins)
        for name, table in tables.items()
        if name not in sections
    ]
    plugin_sections: dict[str, BaseModel] = {}
    for name, model in sections.items():
        path = ("plugins", name)
        if model is None:
            if tables.get(name):
                problems.append(
                    origins.problem(path, f"plugin {name!r} has no settings", "remove the section")
                )
            continue
        resolved, unread = read_files(model, tables.get(name, {}), path, origins, files)
        section, faults = check(model, resolved, path, origins)
        faults += unread
        if section is not None and not unread:
            plugin_sections[name] = section
        elif name in tables or name in enabled:
            problems += faults
    if core is None:
        return None, problems
    settings = Settings.model_construct(
        **{**dict(core), "groups": MappingProxyType(dict(core.groups))},
        plugin_sections=MappingProxyType(plugin_sections),
        secret_files=MappingProxyType(files),
    )
    return settings, problems


def _misplaced(problem: ConfigProblem, sections: PluginModels) -> ConfigProblem:
    """Point from `[mqtt]` to `[plugins.mqtt]`."""
    if problem.what != "unknown section" or problem.key not in sections:
        return problem
    return replace(problem, fix=f"did you mean [plugins.{problem.key}]?")


def _stray(name: str, value: object, sections: PluginModels, origins: Origins) -> ConfigProblem:
    path = ("plugins", name)
    if isinstance(value, dict):
        what = f"no plugin {name!r} is installed"
        return origins.problem(path, what, _known(name, sections))
    return origins.problem(path, "unknown setting", suggestion(name, _CORE_PLUGIN_KEYS))


def _known(name: str, sections: PluginModels) -> str:
    near = suggestion(name, sections)
    if near.startswith("did you mean"):
        return near
    return "install it, or remove it; `quorate plugin list` lists the installed ones"


def _read(path: Path) -> str:
    def refuse(what: str, fix: str) -> ConfigError:
        return ConfigError([ConfigProblem(file=str(path), what=what, fix=fix)])

    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise refuse(
            "there is no such file", "give another path, or write one: `quorate config get`"
        ) from None
    except IsADirectoryError:
        raise refuse("is a directory", "give the path of a file") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise refuse(f"cannot be read: {reason}", "let this user read it") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = ConfigProblem(
            file=str(path),
            line=line,
            what=f"byte 0x{content[error.start]:02x} is not UTF-8",
            fix="save the file as UTF-8",
        )
        raise ConfigError([problem]) from None


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason = str(error)
        place = _SYNTAX_PLACE.search(reason)
        line, column = place.groups() if place else (None, None)
        problem = ConfigProblem(
            file=str(path),
            line=int(line) if line else text.count("\n") + 1,
            column=int(column) if column else None,
            what=f"is not TOML: {_SYNTAX_PLACE.sub('', reason).lower()}",
            fix="correct the line; https://toml.io shows the syntax",
        )
        raise ConfigError([problem]) from None


# The environment: `QUORATE__SECTION__KEY=value`.


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """One variable: the key that it sets, and the value."""

    variable: str
    path: tuple[str, ...]
    value: Any


def overrides(environ: Mapping[str, str]) -> tuple[Sequence[Override], Sequence[ConfigProblem]]:
    """Return the overrides in the order of their names, and the problems of invalid names."""
    found: list[Override] = []
    problems: list[ConfigProblem] = []
    for variable in sorted(name for name in environ if name.startswith(PREFIX)):
        segments = variable.removeprefix(PREFIX).split("__")
        if len(segments) < 2 or not all(segments) or variable != variable.upper():
            problems.append(
                ConfigProblem(
                    variable=variable,
                    what="is not the name of a setting",
                    fix=f"write {PREFIX}SECTION__KEY in capitals, or unset it",
                )
            )
        else:
            path = tuple(segment.lower() for segment in segments)
            found.append(
                Override(variable=variable, path=path, value=read_value(environ[variable]))
            )
    return found, problems


def read_value(text: str) -> Any:
    """Read a TOML value; other text, such as a bare word, is a string."""
    try:
        document = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return document["value"] if list(document) == ["value"] else text


def overlay(tree: dict[str, Any], override: Override) -> bool:
    """Set the value in the tree; return False if a value on its path is not a table."""
    table = tree
    for segment in override.path[:-1]:
        child = table.setdefault(segment, {})
        if not isinstance(child, dict):
            if override.path[-2:] != (segment, FILE):
                return False
            # Replaces a secret that the file sets.
            child = table[segment] = {}
        table = child
    table[override.path[-1]] = override.value
    return True
