"""`quorate member`: the nodes of a cluster, and where its leaders are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click
from google.protobuf.message import Message

from quorate.cli.completing import from_cluster, nodes, shards
from quorate.cli.encoding import fields_of
from quorate.cli.failures import failure
from quorate.cli.options import flag
from quorate.cli.statuses import name_of, place_of
from quorate.cli.terminal import ADMIN, Terminal
from quorate.client.errors import RejectedError
from quorate.plugin.console import consent, consent_options, dry_run_option
from quorate.v1 import admin_pb2 as pb

if TYPE_CHECKING:
    from quorate.client import AsyncClient

#: The status of a node without such a method.
_NOT_DECLARED: Final = "NOT_DECLARED"


@click.group("member")
def command() -> None:
    """List, add, remove and replace nodes; move the leaders of shards."""


@command.command("list")
@click.pass_obj
def list_members(terminal: Terminal) -> None:
    """List the nodes of the cluster with the shards that they hold and lead."""
    topology = terminal.ask(lambda client: client.topology())
    terminal.print(
        {
            "node": node.node,
            "address": node.address,
            "shards": [name_of(shard) for shard in topology.shards if node.node in shard.nodes],
            "leads": [name_of(shard) for shard in topology.shards if node.node == shard.leader],
        }
        for node in topology.nodes
    )


@command.command("add")
@click.argument("name")
@click.argument("address")
@dry_run_option
@click.pass_obj
def add(terminal: Terminal, name: str, address: str, plan: bool) -> None:
    """Add the running node NAME at ADDRESS, host:port of its gRPC, to the cluster.

    It gets a replica of every shard; its share of the groups with a number of replicas moves to it
    afterwards, automatically. Start it first, with an empty directory and with
    [cluster] join in its file. Run again after an interruption, it resumes.
    """
    if not plan:
        terminal.ask(lambda client: _add(client, terminal, name, address))
        return
    met = terminal.ask(lambda client: _meet(client, name, address))
    topology = terminal.ask(lambda client: client.topology())
    shards = [name_of(each) for each in topology.shards]
    row = {"node": name, "address": address, "waits": f"{met.replica:016x}", "shards": shards}
    terminal.print([row])


FORCE = flag("--force", "Remove it even if fewer than two nodes remain.")


@command.command("remove")
@click.argument("name", shell_complete=from_cluster(nodes))
@FORCE
@consent_options
@click.pass_obj
def remove(terminal: Terminal, name: str, force: bool, plan: bool, yes: bool) -> None:
    """Remove the node NAME from every shard, whether it runs or not.

    It shows the replicas of the node and asks for confirmation. Replicas of groups with a number of
    replicas move to other nodes first, if any accepts them. Run again after an interruption, it
    resumes.
    """
    if not yes or plan:
        topology = terminal.ask(lambda client: client.topology())
        held = (
            {"shard": name_of(each), "leader": each.leader, "nodes": list(each.nodes)}
            for each in topology.shards
            if name in each.nodes
        )
        question = f"Remove {name} from these shards? Its directory cannot be used afterwards."
        if not consent(terminal, question, held, plan=plan, yes=yes):
            return
    terminal.ask(lambda client: _remove(client, terminal, name, force))


@command.command("replace")
@click.argument("name", shell_complete=from_cluster(nodes))
@click.argument("address")
@FORCE
@consent_options
@click.pass_obj
def replace(
    terminal: Terminal, name: str, address: str, force: bool, plan: bool, yes: bool
) -> None:
    """Replace the node NAME, which lost its data, with the one at ADDRESS under its name.

    Start the new one first, with an empty directory and with [cluster] join in its file. The
    cluster checks it before anything is removed: it has to answer, to wait for this cluster, and
    to be another replica than the member. The command shows the change and asks for confirmation.
    """
    met = terminal.ask(lambda client: _meet(client, name, address))
    topology = terminal.ask(lambda client: client.topology())
    shown = {
        "node": name,
        "address": address,
        "waits": f"{met.replica:016x}",
        "leaves": f"{met.member:016x}" if met.member else "",
        "leaves_answering": met.member_answers,
        "shards": [name_of(each) for each in topology.shards if name in each.nodes],
    }
    question = f"Replace the replica of {name} in these shards with the one that waits?"
    if not consent(terminal, question, [shown], plan=plan, yes=yes):
        return

    async def replaced(client: AsyncClient) -> None:
        # It may have gone since, or an earlier call may have come this far.
        now = await _meet(client, name, address)
        if now.member not in (0, now.replica):
            await _remove(client, terminal, name, force)
        await _add(client, terminal, name, address)

    terminal.ask(replaced)


@command.command("transfer")
@click.argument("shard", shell_complete=from_cluster(shards))
@click.argument("node", shell_complete=from_cluster(nodes))
@dry_run_option
@click.pass_obj
def transfer(terminal: Terminal, shard: str, node: str, plan: bool) -> None:
    """Transfer the leadership of SHARD, such as metadata/0, to NODE, and wait until it leads."""
    if plan:
        place = place_of(terminal.ask(lambda client: client.topology()), shard)
        if node not in place.nodes:
            raise failure(
                f"{node} has no replica of {shard}", f"name one of {', '.join(place.nodes)}"
            )
        terminal.print([{"shard": shard, "leader": place.leader or None, "next": node}])
        return
    request = pb.TransferLeaderRequest(shard=shard, node=node)
    terminal.admin("TransferLeader", request, pb.TransferLeaderResponse)
    terminal.report(f"{node} leads {shard}", {"shard": shard, "leader": node})


async def _meet(client: AsyncClient, name: str, address: str) -> pb.MeetMemberResponse:
    """Return who waits at an address to become the member of a name."""
    request = pb.MeetMemberRequest(node=name, address=address)
    try:
        return await client.call(f"{ADMIN}/MeetMember", request, pb.MeetMemberResponse)
    except RejectedError as refused:
        if refused.code != _NOT_DECLARED:
            raise
        what = "a node of an older release was asked, which cannot check the one that waits"
        fix = "finish the upgrade, or name a node of this release by --endpoints"
        raise failure(what, fix) from None


async def _add(client: AsyncClient, terminal: Terminal, name: str, address: str) -> None:
    request = pb.AddMemberRequest(node=name, address=address)
    await _follow(client, terminal, "AddMember", request)
    terminal.report(f"{name} is a member", {"node": name, "member": True})


async def _remove(client: AsyncClient, terminal: Terminal, name: str, force: bool) -> None:
    request = pb.RemoveMemberRequest(node=name, force=force)
    await _follow(client, terminal, "RemoveMember", request)
    terminal.report(f"{name} is not a member", {"node": name, "member": False})


async def _follow(client: AsyncClient, terminal: Terminal, method: str, request: Message) -> None:
    async for progress in client.stream(f"{ADMIN}/{method}", request, pb.MemberProgress):
        terminal.report(
            f"{progress.shards_done} of {progress.shards_total} shards done; "
            f"{progress.shard}: {progress.step}",
            fields_of(progress, "shard step shards_done shards_total"),
        )
