"""The metrics of one manager."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from konstat.services.metrics import Metrics


def samples(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Every sample by name and labels, as a scraper reads them."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
    }


def test_each_manager_counts_for_itself() -> None:
    one, other = Metrics(), Metrics()
    one.attempts.labels("WebApp", "observed").inc()
    key = ("konstat_attempts_total", (("ending", "observed"), ("kind", "WebApp")))
    assert samples(one)[key] == 1
    assert key not in samples(other)


def test_every_family_is_named_after_us_and_says_what_it_is() -> None:
    families = list(text_string_to_metric_families(Metrics().text().decode()))
    assert families
    assert [f.name for f in families if not f.name.startswith("konstat_")] == []
    assert [f.name for f in families if not f.documentation.endswith(".")] == []


def test_a_watched_value_is_read_at_each_scrape() -> None:
    metrics = Metrics()
    waiting = ["a"]
    metrics.watch("konstat_waiting", "What waits.", lambda: len(waiting))
    assert samples(metrics)["konstat_waiting", ()] == 1
    waiting.append("b")
    assert samples(metrics)["konstat_waiting", ()] == 2


def test_one_family_watches_several_values() -> None:
    metrics = Metrics()
    for number, kind in enumerate(("WebApp", "Account")):
        metrics.watch("konstat_waiting", "What waits.", lambda n=number: n, kind=kind, place="here")
    seen = samples(metrics)
    assert seen["konstat_waiting", (("kind", "WebApp"), ("place", "here"))] == 0
    assert seen["konstat_waiting", (("kind", "Account"), ("place", "here"))] == 1


def test_labels_are_quoted() -> None:
    metrics = Metrics()
    metrics.applies.labels('We"ird\n', "created").inc()
    key = ("konstat_applies_total", (("action", "created"), ("kind", 'We"ird\n')))
    assert samples(metrics)[key] == 1
