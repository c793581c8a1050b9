from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from quorate.apply.entries import LoggedCommand
from quorate.consensus.messages import Append, Message

from core.tests.steered import Cluster, logged, row


@pytest.fixture
def new_cluster() -> Iterator[Callable[..., Cluster]]:
    """Clusters whose nodes end with the test."""
    made: list[Cluster] = []

    def make(*arguments: Any, **options: Any) -> Cluster:
        made.append(Cluster(*arguments, **options))
        return made[-1]

    yield make
    for cluster in made:
        for node in cluster.nodes.values():
            node.loop.end()


@pytest.fixture
def cluster(new_cluster: Callable[..., Cluster]) -> Cluster:
    """Three nodes with metadata/0, founded."""
    return new_cluster()


@pytest.fixture
def new_row() -> Callable[[str, str], LoggedCommand]:
    """Commands that set a row."""
    return row


@pytest.fixture
def new_command() -> Callable[..., LoggedCommand]:
    """Commands of any message."""
    return logged


@pytest.fixture
def drop_appends() -> Callable[[Message], bool]:
    """A network that loses entries, and nothing else."""
    return lambda message: not (isinstance(message.body, Append) and message.body.entries)
