"""The metrics of nodes, as they answer Prometheus."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.request import urlopen

from quorate.cli.statuses import PATIENCE_S, Silent, Status

if TYPE_CHECKING:
    from quorate.client import AsyncClient, Tls

T = TypeVar("T")

_SAMPLE: Final = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPED: Final = re.compile(r"\\(.)")
_ESCAPES: Final = {"n": "\n"}
#: Labels that are kept: nodes and moments have the same ones, about twenty of each shard in use.
_KEPT: Final = 1 << 15

#: The values of metrics by their labels.
Samples = Mapping[str, Sequence[tuple[Mapping[str, str], float]]]


async def texts_of(
    client: AsyncClient, statuses: Mapping[str, Status], names: Sequence[str]
) -> Mapping[str, str | OSError]:
    """Return the metrics of each node that answers, or why they cannot be read.

    They are those whose names begin with any of `names`, without them all, and perhaps others.
    """
    path = f"/metrics?names={','.join(names)}" if names else "/metrics"
    return await of_answering(statuses, lambda address: fetched(address, client.tls, path))


async def of_answering(statuses: Mapping[str, Status], read: Callable[[str], T]) -> Mapping[str, T]:
    """Return what is read at the HTTP address of each node that answers, all at once."""
    answering = {name: each for name, each in statuses.items() if not isinstance(each, Silent)}
    addresses = (each.http_address for each in answering.values())
    found = await asyncio.gather(*(asyncio.to_thread(read, each) for each in addresses))
    return dict(zip(answering, found, strict=True))


def samples_in(text: str, names: tuple[str, ...]) -> Samples:
    """Return the samples whose names begin with any of these.

    The parser of prometheus_client takes twenty times as long: too long for thousands of buckets.
    """
    found: defaultdict[str, list[tuple[Mapping[str, str], float]]] = defaultdict(list)
    for line in text.split("\n"):
        if line.startswith(names) and (sample := _SAMPLE.fullmatch(line)):
            name, labels, value = sample.groups()
            found[name].append((_labels(labels or ""), float(value)))
    return found


@lru_cache(_KEPT)
def _labels(text: str) -> Mapping[str, str]:
    return {
        name: _ESCAPED.sub(lambda at: _ESCAPES.get(at[1], at[1]), value) if "\\" in value else value
        for name, value in _LABEL.findall(text)
    }


def bucket_of(buckets: Sequence[tuple[float, float]], share: float) -> tuple[float, float]:
    """Return where the bucket of a quantile begins and ends; zeros if there is no value.

    Buckets are given by the end of each and the number of values up to there.
    """
    begin = 0.0
    ordered = sorted(buckets)
    if ordered and ordered[-1][1] > 0:
        for end, count in ordered:
            if count >= share * ordered[-1][1]:
                return begin, end
            begin = end
    return 0.0, 0.0


def fetched(address: str, tls: Tls | None, path: str) -> str | OSError:
    """Return what a node answers over HTTP, or why it cannot be read."""
    context = ssl.create_default_context(cafile=str(tls.ca)) if tls else None
    if tls and tls.cert and tls.key and context:
        context.load_cert_chain(tls.cert, tls.key)
    url = f"http{'s' if tls else ''}://{address}{path}"
    try:
        with urlopen(url, timeout=PATIENCE_S, context=context) as answer:
            text: str = answer.read().decode()
    except OSError as error:
        return error
    return text
