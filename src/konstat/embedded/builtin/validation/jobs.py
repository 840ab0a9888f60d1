"""Checks of Jobs and CronJobs."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Mapping
from typing import Any, Final

from konstat.embedded.builtin.names import label_problems
from konstat.embedded.builtin.validation import basics, pods, schedules
from konstat.embedded.builtin.validation.basics import Errors, Object, numbers_not_negative, one_of
from konstat.embedded.builtin.validation.printed import printed
from konstat.embedded.builtin.validation.workloads import MISMATCH, selects
from konstat.embedded.status_errors import (
    FieldError,
    invalid_value,
    not_implemented,
    not_supported,
    required_value,
)

_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_NUMBERS: Final = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
    "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes",
)  # fmt: skip
_ZONE: Final = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")
_PREFIX: Final = "batch.kubernetes.io/"


def job(new: Object, old: Object | None) -> Errors:
    """A Job; most of its spec stays as it is."""
    spec = new["spec"]
    yield from _generated(new)
    yield from job_spec("spec", spec)
    yield from _job_selector(spec)
    if old is None:
        yield from _pod_names(new)
        return
    # The server checks the spec of an update twice: once as such, once against the old one.
    yield from job_spec("spec", spec)
    yield from _job_selector(spec)
    before = old["spec"]
    completions = spec.get("completions")
    indexed = spec.get("completionMode") == "Indexed" and completions == spec.get("parallelism")
    if not (indexed and completions is not None and before.get("completions") is not None):
        yield from basics.unchanged("spec.completions", completions, before.get("completions"))
    yield from basics.selector_unchanged(spec, before)
    if _fixed(spec["template"], before, old) != _fixed(before["template"], before, old):
        shown = printed(spec["template"], "PodTemplateSpec")
        yield basics.invalid_struct("spec.template", shown, basics.IMMUTABLE)
    for name in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy",
                 "successPolicy"):  # fmt: skip
        yield from basics.unchanged(f"spec.{name}", spec.get(name), before.get(name))


def _fixed(template: Object, before: Object, old: Object) -> Any:
    """The part of a template that may not change: of a Job that never ran, not its placement."""
    if not before.get("suspend") or old["status"].get("startTime"):
        return template
    spec = {k: v for k, v in template["spec"].items()
            if k not in ("nodeSelector", "tolerations", "schedulingGates")}  # fmt: skip
    if "affinity" in spec:
        spec["affinity"] = {k: v for k, v in spec["affinity"].items() if k != "nodeAffinity"}
    for name in ("containers", "initContainers"):
        if spec.get(name):
            spec[name] = [{k: v for k, v in c.items() if k != "resources"} for c in spec[name]]
    return spec


def _generated(new: Object) -> Errors:
    spec, metadata = new["spec"], new["metadata"]
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return
    uid, name = metadata.get("uid", ""), metadata.get("name", "")
    expected = {"controller-uid": uid, "job-name": name}
    expected |= {f"{_PREFIX}controller-uid": uid, f"{_PREFIX}job-name": name}
    labels = spec["template"]["metadata"].get("labels") or {}
    for key in ("controller-uid", "job-name", f"{_PREFIX}controller-uid", f"{_PREFIX}job-name"):
        where = "spec.template.metadata.labels"
        if key not in labels:
            yield required_value(f"{where}[{key}]", f"must be '{expected[key]}'")
        elif labels[key] != expected[key]:
            problem = f"must be '{expected[key]}'"
            yield invalid_value(f"{where}[{key}]", labels, problem)
    if not selects(selector, expected):
        yield basics.invalid_selector("spec.selector", selector, "`selector` not auto-generated")


def _job_selector(spec: Object) -> Errors:
    selector = spec.get("selector")
    labels = spec["template"]["metadata"].get("labels")
    if selector is None:
        yield required_value("spec.selector")
    else:
        yield from basics.selector("spec.selector", selector)
    if selects(selector, labels) is False:
        yield invalid_value("spec.template.metadata.labels", labels, MISMATCH)


def _pod_names(new: Object) -> Errors:
    spec, name = new["spec"], new["metadata"].get("name", "")
    if spec.get("completionMode") == "Indexed" and spec.get("completions", 0) > 0:
        last = f"{name}-{spec['completions'] - 1}"
        if label_problems(last):
            problem = f"will not able to create pod with invalid DNS label: {last}"
            yield invalid_value("metadata.name", name, problem)


def job_spec(path: str, spec: Object) -> Errors:
    """The spec of a Job or of a Job template, without its selector."""
    yield from numbers_not_negative(path, spec, _NUMBERS)
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        where = f"{path}.backoffLimitPerIndex"
        yield required_value(where, "when maxFailedIndexes is specified")
    if "managedBy" in spec:
        yield from basics.prefixed_path(f"{path}.managedBy", spec["managedBy"])
    yield from _completion_mode(path, spec)
    if "podFailurePolicy" in spec:
        yield from _failure_policy(f"{path}.podFailurePolicy", spec)
    if "successPolicy" in spec and spec.get("completionMode") != "Indexed":
        problem = "requires indexed completion mode"
        yield invalid_value(f"{path}.successPolicy", spec["successPolicy"], problem)
    policies = ("Failed",) if "podFailurePolicy" in spec else ("Failed", "TerminatingOrFailed")
    replacement = spec.get("podReplacementPolicy")
    yield from one_of(f"{path}.podReplacementPolicy", replacement, policies, required=False)
    yield from pods.template(f"{path}.template", spec["template"])
    yield from _restart_policy(f"{path}.template.spec.restartPolicy", spec)


def _completion_mode(path: str, spec: Object) -> Errors:
    mode = spec.get("completionMode")
    yield from one_of(f"{path}.completionMode", mode, ("NonIndexed", "Indexed"), required=False)
    if mode == "Indexed":
        if "completions" not in spec:
            yield required_value(f"{path}.completions", "when completion mode is Indexed")
        if spec.get("parallelism", 0) > 100_000:
            problem = "must be less than or equal to 100000 when completion mode is Indexed"
            yield invalid_value(f"{path}.parallelism", spec["parallelism"], problem)
        if spec.get("maxFailedIndexes", 0) > spec.get("completions", 2**31):
            problem = "must be less than or equal to completions"
            yield invalid_value(f"{path}.maxFailedIndexes", spec["maxFailedIndexes"], problem)
    elif mode in (None, "NonIndexed"):
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if name in spec:
                yield invalid_value(
                    f"{path}.{name}", spec[name], "requires indexed completion mode"
                )


def _failure_policy(path: str, spec: Object) -> Errors:
    rules = spec["podFailurePolicy"].get("rules") or []
    if len(rules) > 20:
        yield basics.too_many(f"{path}.rules", len(rules), 20)
    for index, rule in enumerate(rules):
        where, action = f"{path}.rules[{index}]", rule.get("action", "")
        if not action:
            listed = " ".join(f'"{word}"' for word in _ACTIONS)
            yield required_value(f"{where}.action", f"valid values: [{listed}]")
        elif action == "FailIndex":
            if "backoffLimitPerIndex" not in spec:
                problem = "requires the backoffLimitPerIndex to be set"
                yield invalid_value(f"{where}.action", action, problem)
        elif action not in _ACTIONS:
            yield not_supported(f"{where}.action", action, _ACTIONS)
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
        if codes is not None and conditions:
            yield _bare(where, "specifying both OnExitCodes and OnPodConditions is not supported")
        if codes is None and not conditions:
            yield _bare(where, "specifying one of OnExitCodes and OnPodConditions is required")
        if codes is not None:
            yield from _exit_codes(f"{where}.onExitCodes", codes)


def _bare(path: str, problem: str) -> FieldError:
    return FieldError(path, "FieldValueInvalid", f"Invalid value: {problem}")


def _exit_codes(path: str, given: Mapping[str, Any]) -> Errors:
    operators = ("In", "NotIn")
    yield from one_of(f"{path}.operator", given.get("operator"), operators)
    values = given.get("values") or []
    if not values:
        yield _bare(f"{path}.values", "at least one value is required")
    for index, value in enumerate(values):
        if given.get("operator") == "In" and value == 0:
            problem = "must not be 0 for the In operator"
            yield invalid_value(f"{path}.values[{index}]", value, problem)


def _restart_policy(path: str, spec: Object) -> Errors:
    policy = spec["template"]["spec"].get("restartPolicy")
    if policy in ("Always", "", None):
        yield required_value(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(path, policy, ("OnFailure", "Never"))
    elif "podFailurePolicy" in spec and policy != "Never":
        problem = 'only "Never" is supported when podFailurePolicy is specified'
        yield invalid_value(path, policy, problem)


# --- CronJobs ---------------------------------------------------------------------------------


def cron_job(new: Object, old: Object | None) -> Errors:
    """A CronJob: a schedule that can be read, a zone that exists, a Job without selector."""
    spec = new["spec"]
    schedule = spec.get("schedule", "")
    if not schedule:
        yield required_value("spec.schedule")
    else:
        yield from _schedule(schedule, spec.get("timeZone"), old)
    where = "spec.startingDeadlineSeconds"
    yield from basics.not_negative(where, spec.get("startingDeadlineSeconds"))
    if old is None or old["spec"].get("timeZone") != spec.get("timeZone"):
        yield from _time_zone(spec.get("timeZone"))
    choices = ("Allow", "Forbid", "Replace")
    yield from one_of("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), choices)
    yield from _job_template("spec.jobTemplate.spec", spec["jobTemplate"]["spec"])
    limits = ("successfulJobsHistoryLimit", "failedJobsHistoryLimit")
    yield from numbers_not_negative("spec", spec, limits)
    name = new["metadata"].get("name", "")
    if old is None and len(name) > 52:
        yield invalid_value("metadata.name", name, "must be no more than 52 characters")


def _job_template(path: str, spec: Object) -> Errors:
    yield from job_spec(path, spec)
    if "selector" in spec:
        problem = "`selector` will be auto-generated"
        yield invalid_value(f"{path}.selector", spec["selector"], problem)
    if spec.get("manualSelector"):
        yield not_supported(f"{path}.manualSelector", True, ("nil", "false"))


def _schedule(schedule: str, zone: str | None, old: Object | None) -> Errors:
    where = "spec.schedule"
    problem = schedules.problem(schedule)
    if problem:
        yield invalid_value(where, schedule, problem)
    allowed = old is not None and "TZ" in old["spec"].get("schedule", "")
    if "TZ" in schedule and allowed and zone is not None:
        problem = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        yield invalid_value(where, schedule, problem)
    elif "TZ" in schedule and not allowed:
        problem = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield invalid_value(where, schedule, problem)


def _time_zone(zone: str | None) -> Errors:
    where = "spec.timeZone"
    if zone is None:
        return
    if not zone:
        yield invalid_value(where, zone, "timeZone must be nil or non-empty string")
        return
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _ZONE.fullmatch(part):
            yield invalid_value(where, zone, f"unknown time zone {zone}")
            return
    if zone.lower() == "local":
        problem = (
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        )
        yield invalid_value(where, zone, problem)
    elif not _exists(zone):
        yield invalid_value(where, zone, f"unknown time zone {zone}")


def _exists(zone: str) -> bool:
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        if zone != "UTC" and not _exists("UTC"):
            what = "time zones of CronJobs: this machine has no time zone database"
            raise not_implemented(what) from None
        return False
    return True
