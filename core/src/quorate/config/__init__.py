"""Configuration: one TOML file, overridden by the environment, checked as a whole.

`load` returns frozen `Settings` or raises one `ConfigError` that lists every problem. The caller
passes in the sections of the installed plugins, so that nothing here depends on plugins.
"""

from quorate.config.addresses import is_loopback, join_address, split_address
from quorate.config.rendering import render, schema
from quorate.config.sections import (
    CoreSections,
    LimitsSection,
    TimingSection,
)
from quorate.config.settings import PREFIX, PluginModels, Settings, load, section_fault
from quorate.config.validation import ConfigError, ConfigProblem

__all__ = [
    "PREFIX",
    "ConfigError",
    "ConfigProblem",
    "CoreSections",
    "LimitsSection",
    "PluginModels",
    "Settings",
    "TimingSection",
    "is_loopback",
    "join_address",
    "load",
    "render",
    "schema",
    "section_fault",
    "split_address",
]
