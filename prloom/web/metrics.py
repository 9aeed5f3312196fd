"""Write the figures of a repository for Prometheus. No text of a person is among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from prloom.engine.views import dashboard
from prloom.engine.views.dashboard_schema import Dashboard
from prloom.model.kinds import OPEN
from prloom.web.site import Site

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST


class _Figures:
    """The figures of one dashboard, as prometheus_client asks for them."""

    def __init__(self, shown: Dashboard) -> None:
        self._shown = shown

    def collect(self) -> Iterator[Metric]:
        """Yield the figures."""
        shown = self._shown
        yield _gauge("prloom_dispatcher_up", "Whether a dispatcher is running.", float(shown.dispatcher.running))
        if shown.last_tick_age_ms is not None:
            yield _gauge("prloom_last_tick_age_seconds", "Time since the last tick.", shown.last_tick_age_ms / 1000)
        yield _by_kind("prloom_needs", "What waits for a person.", [each.kind for each in shown.needs])
        oldest = max((each.age_ms for each in shown.needs if each.age_ms is not None), default=0)
        yield _gauge("prloom_needs_oldest_seconds", "Age of what has waited longest for a person.", oldest / 1000)
        yield _by_kind("prloom_working", "What is running now.", [each.kind for each in shown.working])
        yield _by_kind("prloom_waiting", "What waits, and continues by itself.", [each.kind for each in shown.waiting])
        yield _gauge("prloom_waiting_oldest_seconds", "Age of the oldest wait.", (shown.waiting_oldest_ms or 0) / 1000)
        yield _by_kind("prloom_plans", "Plans by their status.", [each.status for each in shown.plans], label="status")
        yield from self._events()
        yield from self._sources()
        yield from self._today()

    def _events(self) -> Iterator[Metric]:
        events = GaugeMetricFamily("prloom_open_events", "Open events by their state.", labels=["state"])
        actions = GaugeMetricFamily("prloom_open_actions", "Actions that are not delivered.", labels=["state"])
        plans = self._shown.plans
        for state in OPEN:
            events.add_metric([state], sum(getattr(plan, state) for plan in plans))
        for name in ("queued", "failed", "drafts"):
            actions.add_metric([name], sum(getattr(plan, name) for plan in plans))
        yield events
        yield actions

    def _sources(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("prloom_bridge_up", "Whether the last poll of a bridge worked.", labels=["bridge"])
        age = GaugeMetricFamily("prloom_bridge_last_ok_age_seconds", "Time since it last worked.", labels=["bridge"])
        for source in self._shown.sources:
            up.add_metric([source.name], float(source.error is None))
            if source.last_ok_age_ms is not None:
                age.add_metric([source.name], source.last_ok_age_ms / 1000)
        yield up
        yield age

    def _today(self) -> Iterator[Metric]:
        today = self._shown.today
        tokens = CounterMetricFamily("prloom_today_tokens", "Tokens of today's runs (UTC).", labels=["direction"])
        tokens.add_metric(["input"], today.input_tokens)
        tokens.add_metric(["output"], today.output_tokens)
        yield tokens
        yield CounterMetricFamily("prloom_today_runs", "Runs that began today (UTC) and are over.", today.runs)
        yield CounterMetricFamily("prloom_today_cost_usd", "What today's runs cost (UTC).", today.cost_usd or 0.0)
        unmeasured = "Runs of today (UTC) that reported no tokens."
        yield CounterMetricFamily("prloom_today_unmeasured_runs", unmeasured, today.unmeasured_runs)


def text(site: Site) -> bytes:
    """Return the figures in Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures(dashboard.read(site.where, site.clock(), cache=site.cache)))
    return generate_latest(registry)


def _gauge(name: str, help_text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, help_text, value)


def _by_kind(name: str, help_text: str, kinds: list[str], label: str = "kind") -> Metric:
    """Return how many there are of each kind."""
    family = GaugeMetricFamily(name, help_text, labels=[label])
    for kind in sorted(set(kinds)):
        family.add_metric([kind], kinds.count(kind))
    return family
