"""Stock tools print the same of Quorate as of the stock name server."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from quorate.testing.waiting import until

from tests.support.rocketmq import stock
from tests.support.rocketmq.cluster import Doors

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

#: Where a name server is, and what it keeps there.
OWN = re.compile(r"^(kvConfigPath|configStorePath|listenPort|rocketmqHome) .*\n", re.MULTILINE)


class Side:
    """The tools, as they are used on one of both."""

    def __init__(self, admin: stock.Admin, name_servers: str) -> None:
        self._admin = admin
        self.name_servers = name_servers.split(";")

    def run(self, command: str, *arguments: str) -> str:
        """Return what a command prints of the first name server, whichever that is."""
        said = self._admin.run(self.name_servers[0], command, *arguments)
        return said.replace(self.name_servers[0], "NAME_SERVER")

    def everywhere(self, command: str, *arguments: str) -> set[str]:
        """Return what a command prints of each name server."""
        return {
            self._admin.run(each, command, *arguments).replace(each, "NAME_SERVER")
            for each in self.name_servers
        }


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    """Return the stock name server and three nodes, at all of which one broker is registered."""
    directory = tmp_path_factory.mktemp("rocketmq")
    with ExitStack() as running:
        cluster = running.enter_context(Doors(directory / "quorate")).ready()
        part, address = stock.name_server(directory / "name-server")
        running.enter_context(part)
        broker, _ = stock.broker(directory / "broker", f"{address};{cluster.name_servers}")
        running.enter_context(broker)
        admin = running.enter_context(stock.Admin(directory / "admin"))
        yield Side(admin, address), Side(admin, cluster.name_servers)


def lines(said: str) -> list[str]:
    """Return the lines, whose order says nothing."""
    return sorted(said.splitlines())


def first_columns(said: str) -> list[list[str]]:
    """Return the cluster, the name, the id, the address and the version of each broker."""
    return [line.split()[:5] for line in said.splitlines()]


def names_of_values(said: str) -> list[list[str]]:
    """Return what a broker tells of itself, whatever its values are."""
    return [line.split()[:2] for line in said.splitlines() if "DiskRatio_" not in line]


def as_it_is(said: str) -> str:
    """Return all of it."""
    return said


def properties(said: str) -> list[str]:
    """Return the properties but for places."""
    return lines(OWN.sub("", said))


#: Each changes what the next ones print: the command, whether it is one of each name server, and
#: what of its output is compared; None: it is one of Quorate's alone, as it cannot be repeated.
COMMANDS: tuple[tuple[str, bool, Callable[[str], object] | None], ...] = (
    ("clusterList", False, first_columns),
    ("brokerStatus -c C1", False, names_of_values),
    ("updateTopic -c C1 -t T1 -r 4 -w 4", False, as_it_is),
    ("topicList", True, lines),
    ("topicList -c", True, lines),
    ("topicRoute -t T1", True, as_it_is),
    ("topicClusterList -t T1", True, as_it_is),
    ("updateKvConfig -s ORDER_TOPIC_CONFIG -k T1 -v broker-a:4", False, as_it_is),
    ("getNamesrvConfig", True, properties),
    ("updateNamesrvConfig -k orderMessageEnable -v true", False, as_it_is),
    ("topicRoute -t T1", True, as_it_is),
    ("getNamesrvConfig", True, properties),
    ("deleteKvConfig -s ORDER_TOPIC_CONFIG -k T1", False, as_it_is),
    ("topicRoute -t T1", True, as_it_is),
    ("wipeWritePerm -b broker-a", False, as_it_is),
    ("topicRoute -t T1", True, as_it_is),
    ("addWritePerm -b broker-a", False, as_it_is),
    ("topicRoute -t T1", True, as_it_is),
    ("wipeWritePerm -b nobody", False, as_it_is),
    ("updateStaticTopic -t ST1 -qn 2 -c C1", False, None),
    ("topicRoute -t ST1", True, as_it_is),
    ("topicStatus -t T1", True, as_it_is),
    ("updateNamesrvConfig -k kvConfigPath -v /etc/passwd", False, lambda said: "16" in said),
    ("topicRoute -t nothing", True, lambda said: "CODE: 17" in said),
)


def test_every_command_prints_the_same(sides: tuple[Side, Side]) -> None:
    """All three nodes print what the stock name server does."""
    theirs, ours = sides

    def registered() -> bool | None:
        said = [*theirs.everywhere("clusterList"), *ours.everywhere("clusterList")]
        return all("broker-a" in each for each in said) or None

    until(registered)
    for command, of_all, compare in COMMANDS:
        words = command.split()
        if compare is None:
            assert "Exception" not in ours.run(*words)
            continue
        expected = compare(theirs.run(*words))
        found = ours.everywhere(*words) if of_all else {ours.run(*words)}
        for each in found:
            assert compare(each) == expected, command
