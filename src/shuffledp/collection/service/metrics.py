"""Counters of a server as Prometheus reads them: how many by task and reason, and nothing about anybody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def gauge(name: str, meaning: str, by_task: Mapping[str, float]) -> Metric:
    """A number that goes up and down, for each task."""
    family = GaugeMetricFamily(name, meaning, labels=["task"])
    for task, number in by_task.items():
        family.add_metric([task], number)
    return family


def counter(name: str, meaning: str, by_task: Mapping[str, float]) -> Metric:
    """A number that only grows, for each task."""
    family = CounterMetricFamily(name, meaning, labels=["task"])
    for task, number in by_task.items():
        family.add_metric([task], number)
    return family


def refusals(name: str, meaning: str, by_task: Mapping[str, Mapping[str, int]]) -> Metric:
    """What was refused, for each task and reason."""
    family = CounterMetricFamily(name, meaning, labels=["task", "reason"])
    for task, reasons in by_task.items():
        for reason, number in reasons.items():
            family.add_metric([task, reason], number)
    return family


def process_counter(name: str, meaning: str, number: int) -> Metric:
    """A number that only grows, of the one process that answers."""
    family = CounterMetricFamily(name, meaning)
    family.add_metric([], number)
    return family


class _Fixed(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterable[Metric]:
        return self._families


def text_of(families: Iterable[Metric]) -> bytes:
    """The page that Prometheus reads."""
    registry = CollectorRegistry()
    registry.register(_Fixed(families))
    return generate_latest(registry)
