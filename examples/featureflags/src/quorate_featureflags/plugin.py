"""Feature flags: projects, their environments, and flags and segments in these."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from quorate.plugin import NodeApi, Rejected, ShardRef, Txn
from quorate.plugin.rows import (
    Choice,
    Filter,
    Internal,
    Key,
    Most,
    Name,
    Plugin,
    Range,
    Row,
    Text,
    carry_out,
    find,
    rows_of,
)
from quorate.v1.tenant_pb2 import Tenant


class Settings(BaseModel):
    """`[plugins.featureflags]`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    retire_after_s: int = Field(default=86_400, description="How long a finished flag is kept.")


app = Plugin("featureflags", settings=Settings)

Label = Annotated[str, Text(256)]
Percent = Annotated[int, Range(0, 100)]


class FlagType(Choice):
    """The type of a flag's value."""

    BOOLEAN = 1
    TEXT = 2
    NUMBER = 3


class Rule(Row):
    """Gives a value to a share of the users of a segment."""

    value: Label
    segment: Annotated[str, Text(128)] = ""
    percent: Percent = 0


@app.resource("projects", parent=Tenant, limit=True)
class Project(Row):
    """A product with flags, such as a shop."""

    tenant: Key[Name]
    project: Key[Name]
    owner: Filter[Label] = ""


@app.resource("environments", parent=Project, limit=20)
class Environment(Row):
    """Where a project runs, such as its production."""

    tenant: Key[Name]
    project: Key[Name]
    environment: Key[Name]
    #: Rollouts are refused while it is frozen.
    frozen: Filter[bool] = False


@app.resource("flags", parent=Environment, limit=1_000, history=20)
class Flag(Row):
    """A decision that is taken while a program runs."""

    tenant: Key[Name]
    project: Key[Name]
    environment: Key[Name]
    key: Key[Name]
    type: Filter[FlagType]
    default_value: Annotated[str, Text(65_536)]
    labels: Filter[dict[Name, Label]] = {}
    rules: Internal[Annotated[list[Rule], Most(100)]] = []
    version: Internal[int] = 0
    #: When all were given one value.
    finished_at_ms: Internal[int] = 0


@app.resource("segments", parent=Environment, ttl="ttl_ms")
class Segment(Row):
    """Users that a rule names, for a limited time."""

    tenant: Key[Name]
    project: Key[Name]
    environment: Key[Name]
    name: Key[Name]
    users: Annotated[list[Label], Most(10_000)] = []
    ttl_ms: int = 0


@Flag.verb()
def rollout(
    txn: Txn, flag: Flag, *, rules: list[Rule], expected_version: int | None = None
) -> Flag:
    """Replace the rules of a flag if its version is the expected one."""
    if expected_version not in (None, flag.version):
        raise Rejected("VERSION_MISMATCH", f"the version is {flag.version}")
    where = find(txn, Environment, flag.tenant, flag.project, flag.environment)
    if where is None or where.frozen:
        raise Rejected("FROZEN", f"environment {flag.environment} is frozen: thaw it")
    for rule in rules:
        if rule.segment and not find(
            txn, Segment, flag.tenant, flag.project, flag.environment, rule.segment
        ):
            raise Rejected("NOT_FOUND", f"there is no segment {rule.segment}: create it")
    everyone = any(rule.percent == 100 and not rule.segment for rule in rules)
    flag.rules, flag.version = rules, flag.version + 1
    flag.finished_at_ms = txn.proposed_at_ms if everyone else 0
    return flag


@Flag.verb()
def retire(txn: Txn, flag: Flag, *, before_ms: int) -> Flag:
    """Give everyone the value of a flag that was finished before then, and drop its rules."""
    if not 0 < flag.finished_at_ms < before_ms:
        raise Rejected("NOT_FINISHED", f"flag {flag.key} is not finished for so long")
    last = next(rule for rule in flag.rules if rule.percent == 100 and not rule.segment)
    flag.default_value, flag.rules, flag.finished_at_ms = last.value, [], 0
    flag.version += 1
    return flag


@Segment.verb()
def extend(txn: Txn, segment: Segment, *, ttl_ms: Annotated[int, Range(1, 10**12)]) -> Segment:
    """Let a segment live so much longer from now on."""
    segment.ttl_ms = ttl_ms
    return segment


@Flag.condition
def ruled(flag: Flag, *, ruled: bool) -> bool:
    """Whether a flag has rules."""
    return bool(flag.rules) == ruled


@app.controller(interval_s=60, wake_on=[Flag])
async def retiring(node: NodeApi, shard: ShardRef) -> None:
    """Retire flags that were finished long ago."""
    before_ms = node.logical_ms(shard) - node.config(Settings).retire_after_s * 1_000
    finished = [flag async for flag in rows_of(node, Flag) if 0 < flag.finished_at_ms < before_ms]
    await carry_out(node, shard, retire, finished, before_ms=before_ms)
