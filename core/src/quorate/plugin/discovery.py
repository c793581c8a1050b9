"""Finds the installed plugins: the entry points of group `quorate`, imported one by one."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import Distribution, EntryPoint, entry_points, version
from itertools import groupby
from types import ModuleType
from typing import Final

from quorate.plugin.markers import PROJECT
from quorate.plugin.nearness import repair_of
from quorate.plugin.problems import PluginProblem
from quorate.plugin.source_lines import place_of_error

#: Names that `[plugins]` and the families of the host use themselves.
RESERVED_NAMES: Final = frozenset({"core", "raft", "enabled", "retired"})

_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """An installed plugin: its identity, and its module if that can be used."""

    name: str
    distribution: str
    version: str
    #: None when the plugin cannot be used; `problems` then says why.
    module: ModuleType | None
    problems: tuple[PluginProblem, ...] = ()

    @property
    def built_in(self) -> bool:
        """Whether it comes with the core: then every node serves it."""
        return self.distribution.lower() == PROJECT

    def problem(
        self, what: str, fix: str, cause: BaseException | None = None, where: str = ""
    ) -> PluginProblem:
        """Return a problem of this plugin; `cause` is the exception of its code."""
        problem = PluginProblem(self.name, self.distribution, self.version, what, fix, where)
        problem.__cause__ = cause
        return problem


def installed(names: Container[str] | None = None) -> tuple[Plugin, ...]:
    """Import every installed plugin, or those of some names, in the order of their names."""
    points = entry_points(group=PROJECT)
    wanted = [point for point in points if names is None or point.name in names]
    return discover(wanted, core_version=version(PROJECT))


def owners_of(module: str) -> frozenset[str]:
    """Return the names of the plugins in the top-level package of a module."""
    package = module.partition(".")[0]
    points = entry_points(group=PROJECT)
    return frozenset(each.name for each in points if each.module.partition(".")[0] == package)


def module_owners() -> dict[str, str]:
    """Return the names of the installed plugins that are not core's, by their top-level module."""
    return {
        module: point.name
        for point in entry_points(group=PROJECT)
        if (module := point.module.partition(".")[0]) != PROJECT
    }


def discover(points: Iterable[EntryPoint], *, core_version: str) -> tuple[Plugin, ...]:
    """Import the plugins of these entry points, in the order of their names.

    One that cannot be used is returned with its problems: nothing is left out, nothing raises.
    """
    by_name = sorted(points, key=lambda point: (point.name, _owner(point)))
    return tuple(
        _load(list(claims), core_version)
        for _, claims in groupby(by_name, key=lambda point: point.name)
    )


def _load(claims: Sequence[EntryPoint], core_version: str) -> Plugin:
    """Import a plugin, unless it is known beforehand that it cannot be used."""
    point = claims[0]
    distribution, release = _owner(point)
    plugin = Plugin(name=point.name, distribution=distribution, version=release, module=None)
    problems = [
        *_name_problems(plugin, claims),
        *_version_problems(plugin, point.dist, core_version),
    ]
    if problems:
        return replace(plugin, problems=tuple(problems))
    try:
        module = point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever an import raises is reported
        problem = plugin.problem(
            f"importing {point.value} raised {type(error).__name__}: {error}",
            repair_of(error, "repair the import"),
            cause=error,
            where=place_of_error(error),
        )
    else:
        if isinstance(module, ModuleType):
            return replace(plugin, module=module)
        problem = plugin.problem(
            f"the entry point {point.value} is a {type(module).__name__} and no module",
            f"let it name the module that holds the hooks: {point.name} = {point.module!r}",
        )
    return replace(plugin, problems=(problem,))


def _name_problems(plugin: Plugin, claims: Sequence[EntryPoint]) -> Iterator[PluginProblem]:
    if len(claims) > 1:
        owners = " and ".join(" ".join(_owner(claim)) for claim in claims)
        yield plugin.problem(
            f"the name is claimed by {owners}", "uninstall all but one of the distributions"
        )
    if plugin.name in RESERVED_NAMES or not _NAME.fullmatch(plugin.name):
        yield plugin.problem(
            f"the entry point's name {plugin.name!r} cannot name a plugin",
            "use small letters, digits and _, and none of " + ", ".join(sorted(RESERVED_NAMES)),
        )


def _version_problems(
    plugin: Plugin, dist: Distribution | None, core_version: str
) -> Iterator[PluginProblem]:
    # A client starts without it.
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    for line in (dist.requires if dist is not None else None) or []:
        try:
            wanted = Requirement(line)
        except InvalidRequirement as error:
            yield plugin.problem(
                f"its metadata requires {line!r}, which is no requirement",
                f"reinstall {plugin.distribution}",
                cause=error,
            )
            continue
        if (
            canonicalize_name(wanted.name) == PROJECT
            and (wanted.marker is None or wanted.marker.evaluate())
            and not wanted.specifier.contains(core_version, prereleases=True)
        ):
            yield plugin.problem(
                f"it needs {PROJECT} {wanted.specifier}, and this is {PROJECT} {core_version}",
                f"install a release of {plugin.distribution} made for {PROJECT} {core_version}",
            )


def _owner(point: EntryPoint) -> tuple[str, str]:
    """Return the distribution and version; metadata that was damaged may hold neither."""
    if point.dist is None:
        return "unknown", "unknown"
    return _told(point.dist, "Name"), _told(point.dist, "Version")


def _told(dist: Distribution, key: str) -> str:
    metadata = dist.metadata
    # Its type has no `get` before Python 3.12.
    return metadata[key] if key in metadata else "unknown"  # noqa: SIM401
