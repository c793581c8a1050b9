"""Renders the configuration as commented TOML, and its JSON schema."""

import inspect
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import tomlkit
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from quorate.config.fields import unwrapped
from quorate.config.secrets import FILE
from quorate.config.sections import CoreSections, PluginsSection
from quorate.config.settings import PluginModels, Settings
from quorate.config.validation import holds_secret

_WIDTH = 98


def render(settings: Settings) -> str:
    """Return the settings as a commented file that loads to equal ones.

    Secrets and unset settings are in comments: a masked value that is loaded again would be taken
    for the secret.
    """
    blocks: list[str] = []
    for name, field in CoreSections.model_fields.items():
        value = getattr(settings, name)
        if isinstance(value, BaseModel):
            blocks += _section((name,), value)
        else:
            blocks.append(_comment(f"[{name}.<name>]\n{field.description}"))
            for key, section in value.items():
                blocks += _section((name, key), section)
    for name, section in settings.plugin_sections.items():
        blocks += _section(("plugins", name), section)
    return "\n\n".join(blocks) + "\n"


def schema(sections: PluginModels) -> dict[str, Any]:
    """Return the JSON schema of the whole file."""
    models: list[type[BaseModel]] = [CoreSections, PluginsSection]
    models += [model for model in sections.values() if model is not None]
    references, document = models_json_schema(
        [(model, "validation") for model in models], ref_template="#/$defs/{model}"
    )
    definitions = document["$defs"]

    def definition(model: type[BaseModel]) -> str:
        return str(references[model, "validation"]["$ref"]).removeprefix("#/$defs/")

    empty = {"type": "object", "additionalProperties": False, "description": "Has no settings."}
    definitions[definition(PluginsSection)]["properties"] |= {
        name: empty if model is None else dict(references[model, "validation"])
        for name, model in sections.items()
    }
    definitions = {name: _or_in_a_file(each) for name, each in definitions.items()}
    root = definitions.pop(definition(CoreSections))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **root,
        "title": "Quorate configuration",
        "$defs": definitions,
    }


def _or_in_a_file(schema: Any) -> Any:
    """Allow a table with the name of a file in place of each secret, and unwrap descriptions."""
    if isinstance(schema, list):
        return [_or_in_a_file(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _or_in_a_file(each) for name, each in schema.items()}
    if isinstance(text := found.get("description"), str):
        found["description"] = unwrapped(text)
    if found.get("format") != "password":
        return found
    return {
        **{name: found.pop(name) for name in ("default", "description", "title") if name in found},
        "anyOf": [
            found,
            {
                "type": "object",
                "properties": {FILE: {"type": "string"}},
                "required": [FILE],
                "additionalProperties": False,
            },
        ],
    }


def _section(path: tuple[str, ...], section: BaseModel) -> Iterator[str]:
    values = section.model_dump(mode="json")
    model = type(section)
    header = ".".join(tomlkit.key(part).as_string() for part in path)
    lines = [_comment(inspect.cleandoc(model.__doc__ or model.__name__)), f"[{header}]"]
    below: list[tuple[tuple[str, ...], BaseModel]] = []
    for name, field in model.model_fields.items():
        key = field.alias or name
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            below.append(((*path, key), value))
            continue
        if field.description:
            lines.append(_comment(field.description))
        bare = tomlkit.key(key).as_string()
        if value is None:
            lines.append(f"# {bare} is not set")
        elif holds_secret(field.annotation):
            lines.append(f"# {bare} is a secret and not shown")
        else:
            lines.append(f"{bare} = {_inline(values[name])}")
    yield "\n".join(lines)
    for inner, value in below:
        yield from _section(inner, value)


def _comment(text: str) -> str:
    return "\n".join(
        f"# {line}".rstrip()
        for paragraph in text.splitlines()
        for line in textwrap.wrap(paragraph, _WIDTH) or [""]
    )


def _inline(value: Any) -> str:
    """Write a value on one line; TOML has no null, so that tables omit it."""
    if isinstance(value, Mapping):
        pairs = (
            f"{tomlkit.key(str(key)).as_string()} = {_inline(item)}"
            for key, item in value.items()
            if item is not None
        )
        inner = ", ".join(pairs)
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    scalar: str = tomlkit.item(value).as_string()
    return scalar
