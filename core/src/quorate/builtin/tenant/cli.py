"""The commands of `quorate tenant` besides those of its resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import click

from quorate.plugin import Console
from quorate.v1 import admin_pb2 as pb

USAGE: Final = "/quorate.v1.AdminService/QuotaUsage"
#: Quotas of the whole cluster; each node counts the others for itself.
_OF_CLUSTER: Final = ("rows", "bytes")


@click.group("tenant")
def tenant() -> None:
    """See and change tenants, their quotas and those of callers."""


@tenant.group("quota")
def quota() -> None:
    """See and change quotas, and see their usage."""


@quota.command("status")
@click.argument("name", required=False, default="")
@click.option(
    "--kind",
    type=click.Choice(("tenant", "identity", "address", "all")),
    default="tenant",
    show_default=True,
    help="Kind of the quotas.",
)
@click.pass_obj
def status(console: Console, name: str, kind: str) -> None:
    """Show the usage of quotas, and how often they refused a request.

    Queries every node. Rates are those of the last second. Rows and bytes are those of the whole
    cluster, at the last count.
    """
    client = console.client()
    request = pb.QuotaUsageRequest(kind="" if kind == "all" else kind, name=name)
    answers = {
        each.node: client.at(each.node).call(USAGE, request, pb.QuotaUsageResponse)
        for each in client.topology().nodes
    }
    console.print(list(usage_rows(answers)))


def usage_rows(answers: Mapping[str, pb.QuotaUsageResponse]) -> Iterator[Mapping[str, Any]]:
    """Yield the usage of each quota, from the responses of all nodes."""
    of_cluster: dict[tuple[str, str, str], dict[str, Any]] = {}
    rows = []
    for node, answer in answers.items():
        for use in answer.uses:
            row = {
                "kind": use.kind,
                "name": use.name,
                "quota": use.quota,
                "node": "all" if use.quota in _OF_CLUSTER else node,
                "limit": use.limit,
                "used": use.used,
                "refused": use.refused,
            }
            if use.quota in _OF_CLUSTER:
                known = of_cluster.get((use.kind, use.name, use.quota))
                if known is not None:
                    known["used"] = max(known["used"], use.used)
                    known["refused"] += use.refused
                    continue
                of_cluster[use.kind, use.name, use.quota] = row
            rows.append(row)
    yield from sorted(rows, key=lambda row: (row["kind"], row["name"], row["quota"], row["node"]))
