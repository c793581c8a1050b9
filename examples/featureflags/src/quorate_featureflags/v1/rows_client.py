"""The clients of the rows of featureflags. Written by `quorate plugin protos` from their classes."""

from __future__ import annotations

import builtins
from collections.abc import AsyncGenerator

from quorate.client import Blocking, Client, RecordChange, blocking, iterating
from quorate.client.rows import UNSET, Rows, Unset

from quorate_featureflags.plugin import Environment, Flag, FlagType, Project, Rule, Segment
from quorate_featureflags.v1 import rows_pb2 as pb


class Projects(Rows[Project]):
    """The rows of `featureflags.projects`."""

    row_class = Project

    async def get(
        self,
        tenant: str,
        project: str,
        *,
        stale: bool = False,
        timeout_s: float | None = None,
    ) -> Project | None:
        """Return the row of a key, or None."""
        return await self._get((tenant, project,), stale=stale, timeout_s=timeout_s)

    def list(
        self,
        *,
        tenant: str = '',
        prefix: str = "",
        owner: str | None = None,
    ) -> AsyncGenerator[Project, None]:
        """Yield rows in the order of their keys; None or empty leaves a condition out."""
        return self._list({'tenant': tenant, 'prefix': prefix, 'owner': owner})

    async def count(
        self,
        *,
        tenant: str = '',
        prefix: str = "",
        owner: str | None = None,
    ) -> int:
        """Return how many rows there are under the same conditions."""
        return await self._count({'tenant': tenant, 'prefix': prefix, 'owner': owner})

    async def update(
        self,
        tenant: str,
        project: str,
        *,
        owner: str | Unset = UNSET,
        timeout_s: float | None = None,
    ) -> Project:
        """Change the given fields of a row; None clears an optional field."""
        return await self._update((tenant, project,), {'owner': owner}, timeout_s)

    async def delete(
        self,
        tenant: str,
        project: str,
        *,
        missing_ok: bool = False,
        expected_revision: int | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Delete a row with the rows that belong to it."""
        await self._delete((tenant, project,), missing_ok=missing_ok, expected_revision=expected_revision, timeout_s=timeout_s)

    def watch(
        self,
        tenant: str = '',
        *,
        token: bytes = b"",
        changes_only: bool = False,
    ) -> AsyncGenerator[RecordChange[pb.Project], None]:
        """Yield the current rows with keys that begin with these parts, and then every change."""
        return self._watch((tenant, ), token=token, changes_only=changes_only)


class SyncProjects(Blocking[Projects]):
    """The same, without `await`."""

    def __init__(self, q: Client) -> None:
        super().__init__(q.thread, Projects(q.asynchronous))

    create = blocking(Projects.create)
    create_each = blocking(Projects.create_each)
    put = blocking(Projects.put)
    put_each = blocking(Projects.put_each)
    get = blocking(Projects.get)
    count = blocking(Projects.count)
    update = blocking(Projects.update)
    delete = blocking(Projects.delete)
    list = iterating(Projects.list)
    watch = iterating(Projects.watch)


class Environments(Rows[Environment]):
    """The rows of `featureflags.environments`."""

    row_class = Environment

    async def get(
        self,
        tenant: str,
        project: str,
        environment: str,
        *,
        stale: bool = False,
        timeout_s: float | None = None,
    ) -> Environment | None:
        """Return the row of a key, or None."""
        return await self._get((tenant, project, environment,), stale=stale, timeout_s=timeout_s)

    def list(
        self,
        *,
        tenant: str = '',
        project: str = '',
        prefix: str = "",
        frozen: bool | None = None,
    ) -> AsyncGenerator[Environment, None]:
        """Yield rows in the order of their keys; None or empty leaves a condition out."""
        return self._list({'tenant': tenant, 'project': project, 'prefix': prefix, 'frozen': frozen})

    async def count(
        self,
        *,
        tenant: str = '',
        project: str = '',
        prefix: str = "",
        frozen: bool | None = None,
    ) -> int:
        """Return how many rows there are under the same conditions."""
        return await self._count({'tenant': tenant, 'project': project, 'prefix': prefix, 'frozen': frozen})

    async def update(
        self,
        tenant: str,
        project: str,
        environment: str,
        *,
        frozen: bool | Unset = UNSET,
        timeout_s: float | None = None,
    ) -> Environment:
        """Change the given fields of a row; None clears an optional field."""
        return await self._update((tenant, project, environment,), {'frozen': frozen}, timeout_s)

    async def delete(
        self,
        tenant: str,
        project: str,
        environment: str,
        *,
        missing_ok: bool = False,
        expected_revision: int | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Delete a row with the rows that belong to it."""
        await self._delete((tenant, project, environment,), missing_ok=missing_ok, expected_revision=expected_revision, timeout_s=timeout_s)

    def watch(
        self,
        tenant: str = '',
        project: str = '',
        *,
        token: bytes = b"",
        changes_only: bool = False,
    ) -> AsyncGenerator[RecordChange[pb.Environment], None]:
        """Yield the current rows with keys that begin with these parts, and then every change."""
        return self._watch((tenant, project, ), token=token, changes_only=changes_only)


class SyncEnvironments(Blocking[Environments]):
    """The same, without `await`."""

    def __init__(self, q: Client) -> None:
        super().__init__(q.thread, Environments(q.asynchronous))

    create = blocking(Environments.create)
    create_each = blocking(Environments.create_each)
    put = blocking(Environments.put)
    put_each = blocking(Environments.put_each)
    get = blocking(Environments.get)
    count = blocking(Environments.count)
    update = blocking(Environments.update)
    delete = blocking(Environments.delete)
    list = iterating(Environments.list)
    watch = iterating(Environments.watch)


class Flags(Rows[Flag]):
    """The rows of `featureflags.flags`."""

    row_class = Flag

    async def get(
        self,
        tenant: str,
        project: str,
        environment: str,
        key: str,
        *,
        stale: bool = False,
        timeout_s: float | None = None,
    ) -> Flag | None:
        """Return the row of a key, or None."""
        return await self._get((tenant, project, environment, key,), stale=stale, timeout_s=timeout_s)

    def list(
        self,
        *,
        tenant: str = '',
        project: str = '',
        environment: str = '',
        prefix: str = "",
        type: FlagType | None = None,
        labels: dict[str, str] | None | None = None,
        ruled: bool | None = None,
    ) -> AsyncGenerator[Flag, None]:
        """Yield rows in the order of their keys; None or empty leaves a condition out."""
        return self._list({'tenant': tenant, 'project': project, 'environment': environment, 'prefix': prefix, 'type': type, 'labels': labels, 'ruled': ruled})

    async def count(
        self,
        *,
        tenant: str = '',
        project: str = '',
        environment: str = '',
        prefix: str = "",
        type: FlagType | None = None,
        labels: dict[str, str] | None | None = None,
        ruled: bool | None = None,
    ) -> int:
        """Return how many rows there are under the same conditions."""
        return await self._count({'tenant': tenant, 'project': project, 'environment': environment, 'prefix': prefix, 'type': type, 'labels': labels, 'ruled': ruled})

    async def update(
        self,
        tenant: str,
        project: str,
        environment: str,
        key: str,
        *,
        type: FlagType | Unset = UNSET,
        default_value: str | Unset = UNSET,
        labels: dict[str, str] | None | Unset = UNSET,
        timeout_s: float | None = None,
    ) -> Flag:
        """Change the given fields of a row; None clears an optional field."""
        return await self._update((tenant, project, environment, key,), {'type': type, 'default_value': default_value, 'labels': labels}, timeout_s)

    async def delete(
        self,
        tenant: str,
        project: str,
        environment: str,
        key: str,
        *,
        missing_ok: bool = False,
        expected_revision: int | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Delete a row with the rows that belong to it."""
        await self._delete((tenant, project, environment, key,), missing_ok=missing_ok, expected_revision=expected_revision, timeout_s=timeout_s)

    def watch(
        self,
        tenant: str = '',
        project: str = '',
        environment: str = '',
        *,
        token: bytes = b"",
        changes_only: bool = False,
    ) -> AsyncGenerator[RecordChange[pb.Flag], None]:
        """Yield the current rows with keys that begin with these parts, and then every change."""
        return self._watch((tenant, project, environment, ), token=token, changes_only=changes_only)

    async def rollout(
        self,
        tenant: str,
        project: str,
        environment: str,
        key: str,
        *,
        rules: builtins.list[Rule],
        expected_version: int | None = None,
        timeout_s: float | None = None,
    ) -> Flag:
        """Replace the rules of a flag if its version is the expected one."""
        return await self._do("Rollout", (tenant, project, environment, key,), {'rules': rules, 'expected_version': expected_version}, timeout_s)

    async def retire(
        self,
        tenant: str,
        project: str,
        environment: str,
        key: str,
        *,
        before_ms: int,
        timeout_s: float | None = None,
    ) -> Flag:
        """Give everyone the value of a flag that was finished before then, and drop its rules."""
        return await self._do("Retire", (tenant, project, environment, key,), {'before_ms': before_ms}, timeout_s)


class SyncFlags(Blocking[Flags]):
    """The same, without `await`."""

    def __init__(self, q: Client) -> None:
        super().__init__(q.thread, Flags(q.asynchronous))

    create = blocking(Flags.create)
    create_each = blocking(Flags.create_each)
    put = blocking(Flags.put)
    put_each = blocking(Flags.put_each)
    get = blocking(Flags.get)
    count = blocking(Flags.count)
    update = blocking(Flags.update)
    delete = blocking(Flags.delete)
    rollout = blocking(Flags.rollout)
    retire = blocking(Flags.retire)
    list = iterating(Flags.list)
    watch = iterating(Flags.watch)


class Segments(Rows[Segment]):
    """The rows of `featureflags.segments`."""

    row_class = Segment

    async def get(
        self,
        tenant: str,
        project: str,
        environment: str,
        name: str,
        *,
        stale: bool = False,
        timeout_s: float | None = None,
    ) -> Segment | None:
        """Return the row of a key, or None."""
        return await self._get((tenant, project, environment, name,), stale=stale, timeout_s=timeout_s)

    def list(
        self,
        *,
        tenant: str = '',
        project: str = '',
        environment: str = '',
        prefix: str = "",
    ) -> AsyncGenerator[Segment, None]:
        """Yield rows in the order of their keys; None or empty leaves a condition out."""
        return self._list({'tenant': tenant, 'project': project, 'environment': environment, 'prefix': prefix})

    async def count(
        self,
        *,
        tenant: str = '',
        project: str = '',
        environment: str = '',
        prefix: str = "",
    ) -> int:
        """Return how many rows there are under the same conditions."""
        return await self._count({'tenant': tenant, 'project': project, 'environment': environment, 'prefix': prefix})

    async def update(
        self,
        tenant: str,
        project: str,
        environment: str,
        name: str,
        *,
        users: builtins.list[str] | None | Unset = UNSET,
        ttl_ms: int | Unset = UNSET,
        timeout_s: float | None = None,
    ) -> Segment:
        """Change the given fields of a row; None clears an optional field."""
        return await self._update((tenant, project, environment, name,), {'users': users, 'ttl_ms': ttl_ms}, timeout_s)

    async def delete(
        self,
        tenant: str,
        project: str,
        environment: str,
        name: str,
        *,
        missing_ok: bool = False,
        expected_revision: int | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Delete a row with the rows that belong to it."""
        await self._delete((tenant, project, environment, name,), missing_ok=missing_ok, expected_revision=expected_revision, timeout_s=timeout_s)

    def watch(
        self,
        tenant: str = '',
        project: str = '',
        environment: str = '',
        *,
        token: bytes = b"",
        changes_only: bool = False,
    ) -> AsyncGenerator[RecordChange[pb.Segment], None]:
        """Yield the current rows with keys that begin with these parts, and then every change."""
        return self._watch((tenant, project, environment, ), token=token, changes_only=changes_only)

    async def extend(
        self,
        tenant: str,
        project: str,
        environment: str,
        name: str,
        *,
        ttl_ms: int,
        timeout_s: float | None = None,
    ) -> Segment:
        """Let a segment live so much longer from now on."""
        return await self._do("Extend", (tenant, project, environment, name,), {'ttl_ms': ttl_ms}, timeout_s)


class SyncSegments(Blocking[Segments]):
    """The same, without `await`."""

    def __init__(self, q: Client) -> None:
        super().__init__(q.thread, Segments(q.asynchronous))

    create = blocking(Segments.create)
    create_each = blocking(Segments.create_each)
    put = blocking(Segments.put)
    put_each = blocking(Segments.put_each)
    get = blocking(Segments.get)
    count = blocking(Segments.count)
    update = blocking(Segments.update)
    delete = blocking(Segments.delete)
    extend = blocking(Segments.extend)
    list = iterating(Segments.list)
    watch = iterating(Segments.watch)
