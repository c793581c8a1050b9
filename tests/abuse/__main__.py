"""Run attacks against a cluster of one's own.

python -m tests.abuse                                   lists the attacks
python -m tests.abuse NAME...                           each against a cluster made for it
python -m tests.abuse NAME... --endpoints HOST:PORT,... against a running cluster
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import tomlkit
from quorate.client import Tls
from quorate.testing.cluster import Cluster
from quorate.testing.ports import free_ports

from tests.abuse.attack import Attack, Broken, Target, attacks


def made(attack: Attack, directory: Path) -> Cluster:
    """Return the cluster that an attack asks for; entering it starts its nodes."""
    cluster = Cluster(
        directory,
        attack.nodes,
        plugins=attack.plugins,
        settings=attack.settings,
        tls=attack.tls,
    )
    for node in cluster.nodes.values():
        file = tomlkit.parse(node.file.read_text())
        for plugin, setting in attack.doors.items():
            file["plugins"].setdefault(plugin, {})[setting] = free_ports(0)[0]
        node.file.write_text(tomlkit.dumps(file))
    attack.prepare(cluster)
    return cluster


def target_of(attack: Attack, cluster: Cluster) -> Target:
    """Return a cluster that was made for an attack as its target."""
    first = next(iter(cluster.nodes.values()))
    sections = tomlkit.parse(first.file.read_text()).unwrap()["plugins"]
    return Target(
        endpoints=cluster.endpoints,
        http=first.http_address,
        tls=cluster.tls,
        certificates=cluster.certificates if cluster.tls else None,
        cluster=cluster,
        doors={
            plugin: f"127.0.0.1:{sections[plugin][setting]}"
            for plugin, setting in attack.doors.items()
        },
    )


def main() -> int:
    """Run the named attacks and return how many succeeded."""
    parser = argparse.ArgumentParser(prog="python -m tests.abuse", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--endpoints", help="a running cluster; without it each gets its own")
    parser.add_argument("--http", default="", help="the HTTP address of its first node")
    for each, text in (("ca", "the authority"), ("cert", "the client's"), ("key", "its key")):
        parser.add_argument(f"--{each}", type=Path, help=f"PEM file: {text}")
    parser.add_argument("--authority", type=Path, help="directory that `quorate cert init` wrote")
    parser.add_argument("--door", action="append", default=[], metavar="PLUGIN=HOST:PORT")
    options = parser.parse_args()
    known = attacks()
    if unknown := set(options.names) - set(known):
        parser.error(f"no attack is called {', '.join(sorted(unknown))}")
    if not options.names:
        for name in known:
            purpose = import_module(f"tests.abuse.{name}").__doc__ or ""
            print(f"{name:28}{purpose.partition(chr(10))[0]}")
        return 0
    succeeded = 0
    for name in options.names:
        attack = known[name]
        try:
            if options.endpoints is None:
                with (
                    tempfile.TemporaryDirectory(prefix="quorate-abuse-") as folder,
                    made(attack, Path(folder)) as cluster,
                ):
                    target = target_of(attack, cluster.ready())
                    print(f"{name}: held: {asyncio.run(attack.run(target))}")
            elif attack.own_cluster:
                print(f"{name}: it ends processes; run it without --endpoints", file=sys.stderr)
            else:
                target = Target(
                    endpoints=options.endpoints,
                    http=options.http,
                    tls=Tls(ca=options.ca, cert=options.cert, key=options.key)
                    if options.ca
                    else None,
                    certificates=options.authority,
                    doors=dict(each.split("=", 1) for each in options.door),
                )
                print(f"{name}: held: {asyncio.run(attack.run(target))}")
        except Broken as broken:
            succeeded += 1
            print(f"{name}: BROKEN: {broken}")
    return succeeded


if __name__ == "__main__":
    sys.exit(main())
