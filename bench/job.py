"""The job: on each change one owned ConfigMap by apply and one status write, beside kopf.

Three parts: what one change costs (`bench.job_changes`), what 5,300 settled objects weigh and how
a restart takes them (`bench.job_settled`), and what is asked at rest.
"""

from __future__ import annotations

from typing import Final

from bench import job_changes, job_settled, stage
from bench.environments import locked_version
from bench.settings import Settings
from bench.tables import Report

NAME: Final = "job"
TITLE: Final = "The job, beside kopf"


async def run(settings: Settings) -> Report:
    """Measure konstat and kopf in turns, on control planes of their own."""
    rivals = [stage.konstat(), await stage.kopf(settings)]
    changes = await job_changes.measure(rivals, settings)
    defaults = await job_changes.measure([await stage.kopf_defaults(settings)], settings, rounds=1)
    settled = await job_settled.measure(rivals, settings)
    return Report(
        tables=[job_changes.table({**changes, **defaults}), job_settled.table(settled)],
        bounds=[*job_changes.bounds(changes), *job_settled.bounds(settled)],
        versions={
            "kube-apiserver": stage.server_version(),
            "kopf": locked_version("kopf", "kopf"),
            "uvloop (kopf's)": locked_version("kopf", "uvloop"),
        },
    )
