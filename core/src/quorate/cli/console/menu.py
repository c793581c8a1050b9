"""The menu, grouped by what one wants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from quorate.cli.console.html import Link
from quorate.cli.console.layout import Menu
from quorate.cli.console.rows import title_of
from quorate.plugin.advanced import ConsolePage
from quorate.plugin.resource import Resource

#: The extension point by which plugins say where their pages are: a group by the name of a plugin,
#: of a family or of a page.
POINT: Final = "cluster.console_groups"
#: The groups that are there by themselves, in their order; others follow.
_CLUSTER: Final = "Cluster"
_ORDER: Final = (_CLUSTER, "Tenants", "Brokers", "Messaging", "Coordination", "Access")
#: Where what no plugin says anything about is.
_OTHER: Final = "Other"


def of(
    pages: Mapping[str, ConsolePage],
    resources: Mapping[str, Resource[Any]],
    groups: Mapping[str, object],
    *,
    actions: bool,
) -> Menu:
    """Return the groups of links."""
    found: dict[str, list[Link]] = {each: [] for each in _ORDER}
    found[_CLUSTER] = [
        Link("Overview", ""),
        Link("Map", "map"),
        Link("What to do", "alarms"),
        Link("Rates and latencies", "rates"),
        Link("Slow writes", "slow-writes"),
        Link("Controllers and timers", "controllers"),
        Link("Changes of a row", "changes"),
        *([Link("Actions", "actions")] if actions else []),
    ]
    found["Tenants"].append(Link("Quotas in use", "quotas"))
    found["Coordination"].append(Link("Pairs", "pairs"))
    for path, page in pages.items():
        group = _group(groups, path.removeprefix("pages/"))
        found.setdefault(group, []).append(Link(page.title, path))
    for path, resource in sorted(resources.items()):
        name = title_of(resource)
        plugin = resource.family.partition(".")[0]
        same = [each for each in resources.values() if title_of(each) == name]
        # Users of one plugin and users of another.
        text = name if len(same) == 1 else f"{name} ({plugin.replace('_', ' ')})"
        found.setdefault(_group(groups, resource.family), []).append(Link(text, path))
    return [(title, links) for title, links in found.items() if links]


def _group(groups: Mapping[str, object], name: str) -> str:
    return str(groups.get(name) or groups.get(name.partition(".")[0]) or _OTHER)
