"""Whatever callers with too little right send, they read and change nothing that they may not.

Methods are called by their descriptors, with made-up requests, by everybody but writers. The seed
of a run is printed: `QUORATE_FUZZ_SEED=<seed>` repeats it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import grpc
import pytest
from quorate.v1 import kv_pb2, tenant_pb2

from tests.integration.test_access import Site, reference
from tests.integration.test_fuzz import CALL_S, ENDLESS_S, SEED, STREAM, Thrower, unexpected

if TYPE_CHECKING:
    from tests.integration.conftest import Served

#: Stands in rows that none of the attackers may read.
MARK: Final = b"what they may not read"
#: By the caller: whether it may read rows that belong to no tenant, and those of `acme`.
ATTACKERS: Final = {"nobody": False, "stranger": False, "wrong tenant": False, "reader": True}
#: What everybody with an identity may change: sessions, which hold no rows of a domain.
OPEN: Final = "/quorate.v1.CommandService/"


def rows(served: Served) -> dict[str, Any]:
    """Return the rows of every family."""
    groups = {family.group for family in served.catalog.families.values()}
    return {group: served.rows(group) for group in sorted(groups)}


@pytest.mark.parametrize(
    "calls",
    [pytest.param(1_000, marks=pytest.mark.ci), pytest.param(20_000, marks=pytest.mark.full)],
)
@pytest.mark.timeout(3_600)
async def test_nobody_reads_or_changes_what_they_may_not(
    start: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, calls: int
) -> None:
    print(f"\nQUORATE_FUZZ_SEED={SEED}")
    async with start(tmp_path, shards=1) as served:
        site = Site(served)
        await site.found()
        tenant = tenant_pb2.CreateTenant(name="acme", description=MARK.decode())
        await site.ask("Tenant/Create", tenant)
        for key in (b"a", b"b", b"works"):
            await site.ask("Kv/Put", kv_pb2.PutPair(key=key, value=MARK))
        rng = Random(SEED)
        commands = [each for _, each in sorted(served.catalog.commands.items())]
        thrower = Thrower(
            rng,
            [each.message for each in commands],
            [example for each in commands for example in each.examples],
        )
        before = rows(served)
        codes: Counter[str] = Counter()
        names = sorted(reference())
        for _ in range(calls):
            caller, name = rng.choice(list(ATTACKERS)), rng.choice(names)
            method = site.methods[name]
            requests = thrower.requests(method, name)
            endless = not requests or (method.server_streaming and name != STREAM)
            answer = await served.call(
                name,
                *requests,
                token=site.tokens[caller],
                timeout_s=ENDLESS_S if endless else CALL_S,
            )
            codes[f"{caller}: {answer.code.name}"] += 1
            told = b"".join(answer.messages) + answer.details.encode()
            if not ATTACKERS[caller]:
                assert MARK not in told, (caller, name, requests)
            if caller == "nobody":
                assert answer.code is not grpc.StatusCode.OK, (name, requests)
        print(dict(codes))
        assert rows(served) == before

    assert unexpected(caplog.records) == []
    assert codes["reader: OK"] > 0
    assert codes["nobody: UNAUTHENTICATED"] > 0
    assert codes["stranger: PERMISSION_DENIED"] > 0
