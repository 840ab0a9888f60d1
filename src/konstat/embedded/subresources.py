"""Subresources that are no part of their object: scale, binding, eviction, finalize.

What the embedded API has no machinery for (logs, exec, attach, port-forward, proxy, tokens) says
so (501), unless a hook is given for logs. Before: `verbs_write`, `deletion`. After: `verbs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from konstat.base import clock
from konstat.embedded import decoding
from konstat.embedded import status_errors as errors
from konstat.embedded.deletion import Deleter
from konstat.embedded.options import DeleteOptions, WriteOptions
from konstat.embedded.registry import Object, ResourceType, ScalePaths
from konstat.embedded.state import State
from konstat.embedded.status_errors import invalid_value
from konstat.embedded.storage import clone
from konstat.embedded.verbs_patch import check_type, patched
from konstat.embedded.verbs_write import Target, Writer, Written
from konstat.objects.selector import selector_of

SCALE: Final = "autoscaling/v1"
_WITHOUT: Final[Mapping[str, str]] = {
    "log": "logs of containers",
    "exec": "exec into containers",
    "attach": "attach to containers",
    "portforward": "port-forward to pods",
    "proxy": "the proxy to pods, services and nodes",
    "token": "tokens of service accounts",
    "ephemeralcontainers": "ephemeral containers",
    "resize": "resizing of pods",
}


def require_implemented(state: State, target: Target) -> None:
    """Raise a 404 for an absent object and a 501 for a subresource without machinery."""
    what = _WITHOUT.get(target.subresource)
    if what is not None:
        state.require(target.kind, target.namespace, target.name)
        raise errors.not_implemented(what)


# --- scale ----------------------------------------------------------------


class Scales:
    """Reads and writes Scale objects (C23)."""

    def __init__(self, state: State, writer: Writer) -> None:
        self._state = state
        self._writer = writer

    def get(self, target: Target) -> Object:
        """The Scale of one object."""
        obj = self._state.require(target.kind, target.namespace, target.name)
        return _scale_of(obj, target.kind)

    def put(self, target: Target, body: bytes, options: WriteOptions) -> Object:
        """Set the number of replicas by a whole Scale."""
        return self._write(target, lambda current: _parsed(body), options)

    def patch(
        self, target: Target, body: bytes, content_type: str, options: WriteOptions
    ) -> Object:
        """Set the number of replicas by a patch of the Scale."""
        check_type(content_type, custom=target.kind.custom)
        return self._write(
            target, lambda current: patched(current, body, content_type, schema={}), options
        )

    def _write(
        self, target: Target, make: Callable[[Object], Any], options: WriteOptions
    ) -> Object:
        kind = target.kind
        paths = _paths(kind)

        def scaled(current: Object) -> Object:
            wanted = make(_scale_of(current, kind, is_written=True))
            replicas = _checked(wanted, target, current)
            new = clone(current)
            version = (wanted.get("metadata") or {}).get("resourceVersion") or ""
            new["metadata"]["resourceVersion"] = version
            _set(new, paths.spec_replicas, replicas)
            return new

        written = self._writer.update(target, scaled, options, [])
        return _scale_of(written.content, kind)


def _paths(kind: ResourceType) -> ScalePaths:
    if kind.scale is None:
        raise errors.resource_not_found()
    return kind.scale


def _parsed(body: bytes) -> Any:
    try:
        return decoding.parse_json(body)
    except ValueError as error:
        raise errors.bad_request(f"couldn't get version/kind; json parse error: {error}") from error


def _checked(wanted: Any, target: Target, current: Object) -> int:
    """The number of replicas that a Scale asks for; raises the server's 400, 409 and 422."""
    if not isinstance(wanted, dict) or wanted.get("kind", "Scale") != "Scale":
        raise errors.bad_request(
            'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'
        )
    metadata = wanted.get("metadata") or {}
    if metadata.get("name", target.name) != target.name:
        raise errors.bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL"
            f" ({target.name})"
        )
    replicas = (wanted.get("spec") or {}).get("replicas") or 0
    if isinstance(replicas, bool) or not isinstance(replicas, int):
        raise errors.bad_request(
            'Scale in version "v1" cannot be handled as a Scale: json: cannot unmarshal'
            f" {_word(replicas)} into Go struct field ScaleSpec.spec.replicas of type int32"
        )
    if replicas < 0:
        kind = target.kind
        custom = kind.custom
        path = f".{_paths(kind).spec_replicas}" if custom else "spec.replicas"
        problem = (
            "should be a non-negative integer" if custom else "must be greater than or equal to 0"
        )
        cause = invalid_value(path, replicas, problem)
        if custom:
            raise errors.invalid(kind.group, kind.kind, target.name, [cause])
        raise errors.invalid("autoscaling", "Scale", target.name, [cause])
    return replicas


def _word(value: Any) -> str:
    return "string" if isinstance(value, str) else "object"


def _at(obj: Any, path: str) -> Any:
    for key in path.split("."):
        obj = obj.get(key) if isinstance(obj, dict) else None
    return obj


def _set(obj: Object, path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for key in parents:
        inner = obj.get(key)
        if not isinstance(inner, dict):
            inner = obj[key] = {}
        obj = inner
    obj[last] = value


def _scale_of(obj: Object, kind: ResourceType, *, is_written: bool = False) -> Object:
    """The Scale of an object; one without replicas can be written (as 0), but not read."""
    paths = _paths(kind)
    metadata = obj["metadata"]
    replicas = _at(obj, paths.spec_replicas)
    if replicas is None and kind.custom and not is_written:
        problem = f'the spec replicas field ".{paths.spec_replicas}" does not exist'
        raise errors.StatusError(
            f"Internal error occurred: {problem}",
            code=500,
            reason="InternalError",
            details={"causes": [{"message": problem}]},
        )
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Object = {"replicas": _at(obj, paths.status_replicas) or 0}
    if paths.selector and (selector := _selector_text(_at(obj, paths.selector))):
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": SCALE,
        "metadata": {name: metadata[name] for name in names if name in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _selector_text(selector: Any) -> str:
    if isinstance(selector, str):
        return selector
    if not isinstance(selector, dict):
        return ""
    return str(selector_of(selector))


# --- pods and namespaces ----------------------------------------------------------------


class Specials:
    """Binding and eviction of pods, finalize of namespaces."""

    def __init__(self, state: State, writer: Writer, deleter: Deleter) -> None:
        self._state = state
        self._writer = writer
        self._deleter = deleter

    def bind(self, target: Target, body: bytes, options: WriteOptions) -> Object:
        """Assign a pod to a node, once."""
        binding = _parsed(body)
        node = (binding.get("target") or {}) if isinstance(binding, dict) else {}
        if not node.get("name"):
            raise errors.internal_error("target.name: Required value")
        if node.get("kind", "Node") not in ("", "Node"):
            raise errors.internal_error(
                f'target.kind: Unsupported value: "{node["kind"]}": supported values: "Node",'
                ' "<empty>"'
            )
        old = self._state.require(target.kind, target.namespace, target.name)
        self._require_bindable(old, binding, target.name)
        if not options.dry_run:
            new = clone(old)
            new["spec"]["nodeName"] = node["name"]
            given = binding.get("metadata") or {}
            if given.get("annotations"):
                new["metadata"].setdefault("annotations", {}).update(given["annotations"])
            self._writer.put(target.kind, old, _scheduled(new))
        return success(201)

    def _require_bindable(self, pod: Object, binding: Object, name: str) -> None:
        def conflict(detail: str) -> errors.StatusError:
            return errors.conflict("pods/binding", name, detail=detail)

        metadata = pod["metadata"]
        uid = (binding.get("metadata") or {}).get("uid")
        if uid and uid != metadata["uid"]:
            raise conflict(
                f"Precondition failed: UID in precondition: {uid}, UID in object meta:"
                f" {metadata['uid']}"
            )
        if metadata.get("deletionTimestamp") is not None:
            raise conflict(f"pod {name} is being deleted, cannot be assigned to a host")
        assigned = pod["spec"].get("nodeName")
        if assigned:
            raise conflict(f'pod {name} is already assigned to node "{assigned}"')
        if pod["spec"].get("schedulingGates"):
            raise conflict(f"pod {name} has non-empty .spec.schedulingGates")

    def evict(self, target: Target, body: bytes, options: WriteOptions) -> Object:
        """Delete a pod unless a PodDisruptionBudget covers it: those need a controller."""
        eviction = _parsed(body)
        if not isinstance(eviction, dict):
            raise errors.bad_request("the body is no Eviction")
        pod = self._state.require(target.kind, target.namespace, target.name)
        labels = pod["metadata"].get("labels") or {}
        for budget in self._state.objects("policy", "poddisruptionbudgets", target.namespace):
            selector = budget.get("spec", {}).get("selector")
            if selector is not None and selector_of(selector).matches(labels):
                raise _disrupted(budget, target.name)
        given = eviction.get("deleteOptions") or {}
        conditions = given.get("preconditions") or {}
        deletion = DeleteOptions(
            dry_run=options.dry_run or bool(given.get("dryRun")),
            uid=conditions.get("uid"),
            resource_version=conditions.get("resourceVersion"),
            propagation=given.get("propagationPolicy") or "",
            grace_seconds=given.get("gracePeriodSeconds"),
        )
        self._deleter.delete(target, deletion, [])
        return success(201)

    def finalize(self, target: Target, obj: Object, options: WriteOptions) -> Written:
        """Set ``spec.finalizers`` of a namespace; without any a deleted one goes (C70)."""
        old = self._state.require(target.kind, "", target.name)
        if obj["metadata"].get("name") != target.name:
            raise errors.bad_request("the name of the object does not match the name on the URL")
        version = obj["metadata"].get("resourceVersion")
        if version and version != old["metadata"]["resourceVersion"]:
            raise errors.conflict(target.kind.plural, target.name)
        new = clone(old)
        finalizers = (obj.get("spec") or {}).get("finalizers") or []
        spec = new.setdefault("spec", {})
        spec.pop("finalizers", None)
        if finalizers:
            spec["finalizers"] = finalizers
        gone = new["metadata"].get("deletionTimestamp") is not None and not finalizers
        if options.dry_run:
            return Written(new)
        if gone and not new["metadata"].get("finalizers"):
            self._writer.remove(target.kind, old)
            return Written(new)
        return Written(self._writer.put(target.kind, old, new))


def _scheduled(pod: Object) -> Object:
    """A bound pod is PodScheduled."""
    status = pod.setdefault("status", {})
    conditions = [c for c in status.get("conditions") or () if c.get("type") != "PodScheduled"]
    moment = clock.timestamp(clock.now())
    conditions.append(
        {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": moment,
        }
    )
    status["conditions"] = conditions
    return pod


def _disrupted(budget: Object, name: str) -> errors.StatusError:
    """429 when a budget allows no disruption; a budget without a status is not known to."""
    status = budget.get("status") or {}
    allowed = status.get("disruptionsAllowed") or 0
    budget_name = budget["metadata"]["name"]
    if allowed > 0 and status.get("observedGeneration") is not None:
        return errors.not_implemented(
            f"evictions that a PodDisruptionBudget allows ({budget_name}): delete the pod instead"
        )
    message = (
        f"The disruption budget {budget_name} does not allow evicting pods currently because it"
        " has not reached its observed generation or allows no disruption"
    )
    return errors.StatusError(
        "Cannot evict pod as it would violate the pod's disruption budget.",
        code=429,
        reason="TooManyRequests",
        details={"causes": [{"reason": "DisruptionBudget", "message": message}]},
    )


def success(code: int, details: Mapping[str, Any] | None = None) -> Object:
    """A Status that says that all went well."""
    content: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details is not None:
        content["details"] = dict(details)
    if code != 200:
        content["code"] = code
    return content
