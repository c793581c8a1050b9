"""etcdctl says the same of a stock server and of a node."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.etcd.programs import ran
from tests.support.etcd.ours import Ours
from tests.support.etcd.stock import Etcd

pytestmark = [pytest.mark.full, pytest.mark.timeout(1_500)]

#: Commands in their order, each after what it is about.
SCRIPT = """
put a 1
put a 2 --prev-kv
put b 3
put foo/1 x
put foo/2 y
put foo/3 z
get a
get a -w fields
get a -w json
get none
get foo/ --prefix
get foo/ --prefix --keys-only
get foo/ --prefix --count-only -w fields
get foo/ --prefix --limit 2
get foo/ --prefix --order DESCEND --sort-by CREATE
get foo/ --prefix --sort-by VALUE --print-value-only
get a --rev 2
get a --rev 100
get "" --from-key --keys-only
get "" --prefix
get "" --prefix --order DESCEND --sort-by MODIFY -w simple
get a --consistency s
put "" x
put none x --ignore-value
put a --ignore-value
put a 5 --lease 99
del b --prev-kv
del none
del foo/ --prefix --prev-kv
del "" --prefix
get a
put a 1
put k/1 1
put k/2 2
put k/3 3
get k --prefix -w json
compact 5
compact 5
compact 1000
get a --rev 3
get k/ --prefix --rev 11
watch a --rev 3
lease grant 100 --id 1234
lease grant 100
lease list
lease keep-alive 0000000000000001 --once
lease timetolive 1
lease revoke 1
member add other --peer-urls ftp://x
member promote 1
member remove 1
member update 1 --peer-urls http://127.0.0.1:1
move-leader 1
alarm list
alarm disarm
endpoint health
defrag
auth status
auth enable
user list
role list
user add alice:a
user add alice:a
user add bob:b
user add "":b
user get alice
user get none
user passwd none --interactive=false < pw
user delete none
role add reader
role add reader
role add ""
role grant-permission reader read k/ k0
role grant-permission reader read k/ k0
role grant-permission reader write a
role grant-permission none read a
role get reader
role get none
role revoke-permission reader none
user grant-role alice reader
user grant-role alice none
user grant-role none reader
user grant-role bob reader
user revoke-role bob reader
user revoke-role bob reader
user get alice
user get alice --detail
user list
role list
user add root:root
user grant-role root root
role add root
user grant-role root root
auth enable
put a 1
get a
user list
--user alice:bad get a
--user none:bad get a
--user alice:a get k/1
--user alice:a get k/ --prefix
--user alice:a get k/ l
--user alice:a get a
--user alice:a put a 7
--user alice:a put a 8 --prev-kv
--user alice:a put k/1 8
--user alice:a del a
--user alice:a user get alice
--user alice:a user get bob
--user alice:a user list
--user alice:a role get reader
--user alice:a role get root
--user alice:a compact 3
--user alice:a watch b
--user alice:a member list -w simple
--user alice:a defrag
--user bob:b get k/1
--user root:root get k/1
--user root:root get "" --prefix --keys-only
--user root:root user delete root
--user root:root role delete root
--user root:root user revoke-role root root
--user root:root role revoke-permission reader a
--user alice:a put a 7
--user root:root role delete reader
--user alice:a get k/1
--user root:root user delete alice
--user alice:a get k/1
--user root:root auth status
--user root:root auth disable
get a
auth disable
user list
"""

#: What is another number on each cluster.
NUMBERS = (
    (re.compile(r'("?(?:cluster_id|member_id|ClusterID|MemberID)"?\s*:\s*)\d+'), r"\1N"),
    (re.compile(r'("?(?:raft_term|RaftTerm)"?\s*:\s*)\d+'), r"\1N"),
    (re.compile(r"\b[0-9a-f]{15,16}\b"), "HEX"),
    (re.compile(r"127\.0\.0\.1:\d+"), "HOST"),
    (re.compile(r"took = \S+|took \S+"), "took"),
    (re.compile(r'^\{"level".*\n?', re.MULTILINE), ""),
    (re.compile(r"remaining\(\d+s\)"), "remaining"),
)


#: Differences of a server of release 3.4, and why.
DIFFERS = {
    "auth status": "that release has no AuthStatus",
    "--user root:root auth status": "as above",
    "--user alice:a member list -w simple": "the names differ",
    "--user alice:a compact 3": "later releases look at the user first",
    "--user alice:a defrag": "later releases have a code for it",
}


def said(etcdctl: Path, port: int, line: str, cwd: Path) -> str:
    words = shlex.split(line.partition(" <")[0])
    if "watch" in words:
        # It ends with the first refusal, or else goes on.
        words += ["--command-timeout", "2s"]
    code, text = ran(
        "timeout", "3", etcdctl, *words, ETCDCTL_ENDPOINTS=f"127.0.0.1:{port}", cwd=cwd
    )
    for pattern, replaced in NUMBERS:
        text = pattern.sub(replaced, text)
    return f"{code}: {text}"


def test_etcdctl_says_the_same(etcdctl: Path, node: Ours, etcd: Etcd, tmp_path: Path) -> None:
    differ = []
    lines = SCRIPT.strip().splitlines()
    for line in lines:
        theirs = said(etcdctl, etcd.port, line, tmp_path)
        mine = said(etcdctl, node.port, line, tmp_path)
        if mine != theirs and line not in DIFFERS:
            differ.append(f"{line}\n  stock: {theirs}\n  ours:  {mine}")
    assert not differ, "\n".join([f"{len(differ)} of {len(lines)} differ", *differ])


def test_a_refused_snapshot_says_what_to_use(etcdctl: Path, node: Ours, tmp_path: Path) -> None:
    code, text = ran(
        *(etcdctl, "--endpoints", f"127.0.0.1:{node.port}", "snapshot", "save", "saved"),
        cwd=tmp_path,
    )
    assert code != 0
    assert "Unimplemented" in text
    assert "`quorate backup` saves the whole cluster" in text
    assert "`quorate etcd export` copies the pairs" in text
    assert not (tmp_path / "saved").exists()
