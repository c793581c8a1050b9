"""The metrics of nodes, as they answer Prometheus."""

from __future__ import annotations

import asyncio
import ssl
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.request import urlopen

from quorate.cli.statuses import PATIENCE_S, Silent, Status

if TYPE_CHECKING:
    from quorate.client import AsyncClient, Tls

#: The values of metrics by their labels.
Samples = Mapping[str, Sequence[tuple[Mapping[str, str], float]]]


async def texts_of(
    client: AsyncClient, statuses: Mapping[str, Status]
) -> Mapping[str, str | OSError]:
    """Return what each node that answers says of itself, or why that cannot be read."""
    answering = {name: each for name, each in statuses.items() if not isinstance(each, Silent)}
    texts = await asyncio.gather(
        *(asyncio.to_thread(_read, each.http_address, client.tls) for each in answering.values())
    )
    return dict(zip(answering, texts, strict=True))


def samples_in(text: str, names: tuple[str, ...] = ("",)) -> Samples:
    """Return the samples whose names begin with any of these."""
    from prometheus_client.parser import text_string_to_metric_families

    wanted = "".join(f"{line}\n" for line in text.splitlines() if line.startswith(names))
    found: defaultdict[str, list[tuple[Mapping[str, str], float]]] = defaultdict(list)
    for family in text_string_to_metric_families(wanted):
        for sample in family.samples:
            found[sample.name].append((sample.labels, sample.value))
    return found


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


def _read(address: str, tls: Tls | None) -> str | OSError:
    context = ssl.create_default_context(cafile=str(tls.ca)) if tls else None
    if tls and tls.cert and tls.key and context:
        context.load_cert_chain(tls.cert, tls.key)
    url = f"http{'s' if tls else ''}://{address}/metrics"
    try:
        with urlopen(url, timeout=PATIENCE_S, context=context) as answer:
            text: str = answer.read().decode()
    except OSError as error:
        return error
    return text
