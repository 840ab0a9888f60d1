"""What the manager counts, in Prometheus' terms; one registry per manager, served at /metrics."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest


class Metrics:
    """Counters, gauges and histograms of one manager.

    Labels stay few: the resource kind and closed sets of words, never object names.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._watched: dict[str, Gauge] = {}
        self.attempts = Counter(
            "konstat_attempts",
            "Finished attempts by how they ended.",
            ["kind", "ending"],
            registry=self.registry,
        )
        self.attempt_seconds = Histogram(
            "konstat_attempt_seconds",
            "Duration of attempts, reconcile and status write included.",
            ["kind"],
            registry=self.registry,
        )
        self.status_writes = Counter(
            "konstat_status_writes",
            "Status writes by what became of them.",
            ["kind", "result"],
            registry=self.registry,
        )
        self.status_errors = Counter(
            "konstat_status_write_errors",
            "Status writes that the server could not take.",
            ["kind"],
            registry=self.registry,
        )
        self.internal_errors = Counter(
            "konstat_internal_errors",
            "Attempts that a mistake of konstat itself has ended.",
            ["kind"],
            registry=self.registry,
        )
        self.applies = Counter(
            "konstat_applies",
            "Children by what an apply did to them.",
            ["kind", "action"],
            registry=self.registry,
        )
        self.resources = Gauge(
            "konstat_resources",
            "Resources by the status of their Ready condition as last settled.",
            ["kind", "ready"],
            registry=self.registry,
        )
        self.blocked_seconds = Counter(
            "konstat_loop_blocked_seconds",
            "Time for which the event loop did not turn.",
            registry=self.registry,
        )

    def watch(self, name: str, help_text: str, read: Callable[[], float], **labels: str) -> None:
        """A gauge whose value is read when it is scraped.

        Called again for a name, it adds another value to the family, told apart by ``labels``,
        whose names must then be the same; the same labels replace what was watched.
        """
        gauge = self._watched.get(name)
        if gauge is None:
            gauge = Gauge(name, help_text, sorted(labels), registry=self.registry)
            self._watched[name] = gauge
        (gauge.labels(**labels) if labels else gauge).set_function(read)

    def text(self) -> bytes:
        """The exposition of all metrics."""
        return generate_latest(self.registry)
