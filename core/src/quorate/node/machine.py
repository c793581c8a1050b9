"""Metrics and probes of a machine with several workers, over HTTP at one address."""

import ssl
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Final
from urllib.error import HTTPError
from urllib.request import HTTPSHandler, ProxyHandler, build_opener

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families

from quorate.config.workers import Worker
from quorate.observe.http import Answer, HttpServer

#: How long a worker may take to answer.
_WITHIN_S: Final = 5.0
#: The label with the worker of a sample.
_LABEL: Final = "worker"

#: For each worker its name, whether it runs, its starts, and why it was given up.
States = Callable[[], Iterable[tuple[str, bool, int, str]]]


class Machine:
    """Queries the workers from the threads of callers."""

    def __init__(self, workers: Sequence[Worker], ca: Path | None, states: States) -> None:
        self._workers: Final = workers
        self._states: Final = states
        handlers: list[ProxyHandler | HTTPSHandler] = [ProxyHandler({})]
        if ca is not None:
            # The workers' own ports are trusted; certificates have names of nodes or hosts.
            context = ssl.create_default_context(cafile=str(ca))
            context.check_hostname = False
            handlers.append(HTTPSHandler(context=context))
        self._scheme: Final = "http" if ca is None else "https"
        self._opener: Final = build_opener(*handlers)

    def serve(self, host: str, port: int, tls: ssl.SSLContext | None) -> HttpServer:
        """Listen; raises `OSError` if it cannot."""
        paths = {"/metrics": self._metrics, "/livez": self._livez, "/readyz": self._readyz}
        return HttpServer(host, port, paths, tls)

    def missing(self) -> Sequence[str]:
        """Return the reasons why workers are not ready."""
        given_up = {name: why for name, _, _, why in self._states() if why}
        found: list[str] = []
        for worker, (status, text) in zip(self._workers, self._each("/readyz"), strict=True):
            if worker.name in given_up:
                found.append(f"{worker.name} {given_up[worker.name]}")
            elif status != HTTPStatus.OK:
                found += [f"{worker.name}: {line}" for line in text.splitlines()]
        return found

    def _readyz(self) -> Answer:
        if missing := self.missing():
            text = "".join(f"{each}\n" for each in missing)
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, text.encode())
        return Answer(HTTPStatus.OK, b"ready\n")

    def _livez(self) -> Answer:
        # A dead worker is restarted on its own: that is no reason to end the others.
        return Answer(HTTPStatus.OK, b"alive\n")

    def _metrics(self) -> Answer:
        found = SimpleNamespace(collect=lambda: [*self._own(), *self._merged()])
        return Answer(HTTPStatus.OK, generate_latest(found), CONTENT_TYPE_LATEST)

    def _own(self) -> Iterator[Metric]:
        up = GaugeMetricFamily(
            "quorate_worker_running", "Whether the process of the worker runs.", labels=[_LABEL]
        )
        starts = CounterMetricFamily(
            "quorate_worker_starts_total", "Times that the worker was started.", labels=[_LABEL]
        )
        for name, runs, started, _ in self._states():
            up.add_metric([name], runs)
            starts.add_metric([name], started)
        yield from (up, starts)

    def _merged(self) -> Iterable[Metric]:
        """Return the metrics of all workers, each sample with the name of its worker."""
        found: dict[str, Metric] = {}
        for worker, (status, text) in zip(self._workers, self._each("/metrics"), strict=True):
            if status != HTTPStatus.OK:
                continue
            for family in text_string_to_metric_families(text):
                merged = found.setdefault(
                    family.name, Metric(family.name, family.documentation, family.type)
                )
                merged.samples += [
                    each._replace(labels={_LABEL: worker.name, **each.labels})
                    for each in family.samples
                ]
        return found.values()

    def _each(self, path: str) -> list[tuple[int, str]]:
        """Query all workers at the same time, and return their answers in order."""
        with ThreadPoolExecutor(len(self._workers)) as asking:
            return list(asking.map(lambda worker: self._ask(worker, path), self._workers))

    def _ask(self, worker: Worker, path: str) -> tuple[int, str]:
        url = f"{self._scheme}://{worker.settings.node.http_address}{path}"
        try:
            with self._opener.open(url, timeout=_WITHIN_S) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return HTTPStatus.SERVICE_UNAVAILABLE, "does not answer\n"
