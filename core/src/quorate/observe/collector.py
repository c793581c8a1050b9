"""Sends spans to a collector; a slow or lost collector costs spans and nothing else."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from threading import Thread
from typing import Final

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

_log = logging.getLogger(__name__)

#: How long the collector may take for a batch, repeated attempts included.
_WITHIN_S: Final = 5.0
_BATCH: Final = 512
#: Between batches that are not full.
_PERIOD_MS: Final = 1_000


class Collector(SpanProcessor):
    """Takes spans on the event loop and sends them in a thread of its own."""

    def __init__(self, exporter: SpanExporter, most: int) -> None:
        """Queue at most `most` spans; more are dropped."""
        self._most: Final = most
        self._sending: Final = _Sending(exporter)
        self._batches: Final = BatchSpanProcessor(
            self._sending,
            max_queue_size=most,
            schedule_delay_millis=_PERIOD_MS,
            max_export_batch_size=min(_BATCH, most),
        )
        self._taken = 0
        self._dropped = 0

    def on_end(self, span: ReadableSpan) -> None:
        """Queue a span, or drop it if too many wait."""
        if self._taken - self._sending.sent - self._sending.failed >= self._most:
            self._dropped += 1
            return
        self._taken += 1
        self._batches.on_end(span)

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of spans that were sent, failed or were dropped."""
        sending = self._sending
        return {"sent": sending.sent, "failed": sending.failed, "dropped": self._dropped}

    def close(self, within_s: float) -> None:
        """Send the spans that wait, for at most this time; blocks."""
        ending = Thread(target=self._batches.shutdown, name="spans", daemon=True)
        ending.start()
        ending.join(within_s)
        if ending.is_alive():
            # Some exporters end an attempt at once, and others wait for it.
            Thread(target=self._sending.shutdown, name="spans", daemon=True).start()

    def provider(self, node: str) -> TracerProvider:
        """Return the provider that hands a node's spans to this collector."""
        provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource.create({"service.name": "quorate", "service.instance.id": node}),
            shutdown_on_exit=False,
        )
        provider.add_span_processor(self)
        return provider


class _Sending(SpanExporter):
    """Counts the spans that an exporter sends and fails to send."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter: Final = exporter
        self.sent = 0
        self.failed = 0
        self._fails = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            result, why = self._exporter.export(spans), "it did not accept them in time"
        except Exception as error:  # noqa: BLE001 - the thread goes on with the next ones
            result, why = SpanExportResult.FAILURE, str(error)
        if result is SpanExportResult.SUCCESS:
            self.sent += len(spans)
        else:
            self.failed += len(spans)
        if self._fails is not (fails := result is not SpanExportResult.SUCCESS):
            self._fails = fails
            if fails:
                _log.warning("spans for the collector at traces.endpoint are lost: %s", why)
            else:
                _log.info("the collector at traces.endpoint accepts spans again")
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


def collector_at(endpoint: str, most: int) -> Collector:
    """Return the collector at a URL, which takes OTLP over gRPC."""
    return Collector(OTLPSpanExporter(endpoint=endpoint, timeout=_WITHIN_S), most)
