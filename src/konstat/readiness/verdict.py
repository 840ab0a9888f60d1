"""What a readiness verdict is made of: `State`, `Turn`, `Reason`, `Evidence` and `Readiness`.

The rules of this package (`compute`, `workloads`, `causes`, …) return these words; `konstat.status`
turns them into conditions, the command line prints them. The set of reasons is closed: each is
listed here once with its meaning, whose turn it is, and what that one can do.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec


class State(StrEnum):
    """One of seven answers about an object, from best to worst in `severity`.

    kstatus calls Ready "Current", Progressing "InProgress" and Missing "NotFound"; it has no
    Suspended.
    """

    READY = "Ready"
    SUSPENDED = "Suspended"
    UNKNOWN = "Unknown"
    PROGRESSING = "Progressing"
    TERMINATING = "Terminating"
    MISSING = "Missing"
    FAILED = "Failed"

    @property
    def severity(self) -> int:
        """0 for Ready, growing as the state gets worse; never None, never equal for two states.

        Known trouble outranks missing evidence, and missing evidence outranks a wanted rest:
        a suspended part must not hide an unknown one.
        """
        return _SEVERITY[self]


_SEVERITY = {state: severity for severity, state in enumerate(State)}


class Turn(StrEnum):
    """Who has to act before the object gets ready."""

    USER = "user"  # whoever wrote the spec: image, configuration, quota, node selection
    OWNER = "owner"  # whoever runs the operator or the cluster
    NOBODY = "nobody"  # it is on its way, or as wanted

    @property
    def urgency(self) -> int:
        """0 for nobody, 1 for the owner, 2 for the user."""
        return _URGENCY[self]


_URGENCY = {Turn.NOBODY: 0, Turn.OWNER: 1, Turn.USER: 2}


class Reason(StrEnum):
    """Why an object is in its state: a closed set, fit for ``reason`` of a condition.

    Each member carries ``turn`` (who must act), ``meaning`` (one sentence for the reference) and
    ``advice`` (what to do, appended to messages; empty when there is nothing to do but wait).
    """

    turn: Turn
    meaning: str
    advice: str

    def __new__(cls, value: str, turn: Turn, meaning: str, advice: str = "") -> Reason:
        member = str.__new__(cls, value)
        member._value_ = value
        member.turn = turn
        member.meaning = meaning
        member.advice = advice
        return member

    # --- ready ------------------------------------------------------------------------------
    AVAILABLE = ("Available", Turn.NOBODY, "the object does what its spec asks for")
    ALL_READY = ("AllReady", Turn.NOBODY, "every part of an aggregate is ready")
    COMPLETED = ("Completed", Turn.NOBODY, "bounded work ended with success")
    CONDITIONS_MET = (
        "ConditionsMet",
        Turn.NOBODY,
        "the object's own summary conditions are true for its generation",
    )
    EXISTS = ("Exists", Turn.NOBODY, "the kind has nothing to wait for: it exists")
    NO_MATCHING_NODES = ("NoMatchingNodes", Turn.NOBODY, "a DaemonSet matches no node")
    SCALED_TO_ZERO = ("ScaledToZero", Turn.NOBODY, "no replica is wanted and none is left")
    SCHEDULED = ("Scheduled", Turn.NOBODY, "a CronJob waits for its next run")
    WAITING_FOR_CONSUMER = (
        "WaitingForConsumer",
        Turn.NOBODY,
        "a claim is bound when the first pod uses it, as its StorageClass says",
    )
    # --- suspended --------------------------------------------------------------------------
    PAUSED = ("Paused", Turn.USER, "spec.paused holds the rollout")
    SUSPENDED = ("Suspended", Turn.USER, "spec.suspend holds the work")
    # --- unknown ----------------------------------------------------------------------------
    CONDITION_UNKNOWN = (
        "ConditionUnknown",
        Turn.NOBODY,
        "a summary condition is neither True nor False",
    )
    NO_RULE = (
        "NoRule",
        Turn.OWNER,
        "the kind has no rule, and the object no condition that decides",
        "give the kind a Ready condition, or pass judge= to context.apply",
    )
    NOTHING_TO_JUDGE = ("NothingToJudge", Turn.NOBODY, "an aggregate has no parts")
    STATUS_NOT_REPORTED = (
        "StatusNotReported",
        Turn.NOBODY,
        "no controller has written the object's status",
    )
    # --- progressing ------------------------------------------------------------------------
    CLAIM_PENDING = ("ClaimPending", Turn.NOBODY, "a claim waits for its volume")
    CLAIM_RESIZING = ("ClaimResizing", Turn.NOBODY, "a claim's volume is being resized")
    CONDITION_NOT_MET = ("ConditionNotMet", Turn.NOBODY, "a summary condition is False")
    GENERATION_NOT_OBSERVED = (
        "GenerationNotObserved",
        Turn.NOBODY,
        "the status, or the condition that decides, is about another generation of the spec",
    )
    LOAD_BALANCER_PENDING = (
        "LoadBalancerPending",
        Turn.NOBODY,
        "a Service of type LoadBalancer has no address yet",
    )
    PODS_NOT_READY = ("PodsNotReady", Turn.NOBODY, "pods run but are not ready or not available")
    PODS_STARTING = ("PodsStarting", Turn.NOBODY, "pods, volumes or containers are being set up")
    READINESS_GATE_NOT_MET = (
        "ReadinessGateNotMet",
        Turn.NOBODY,
        "a pod waits for a condition that another controller must set",
    )
    RECONCILING = ("Reconciling", Turn.NOBODY, "the object's controller says that it is at work")
    ROLLING_OUT = ("RollingOut", Turn.NOBODY, "pods of the new revision replace the old ones")
    RUNNING = ("Running", Turn.NOBODY, "bounded work has not ended yet")
    SCALING_DOWN = ("ScalingDown", Turn.NOBODY, "more pods exist than are wanted")
    SCHEDULING_GATED = (
        "SchedulingGated",
        Turn.NOBODY,
        "a pod is held by scheduling gates that another controller must remove",
    )
    UNSCHEDULABLE = (
        "Unschedulable",
        Turn.USER,
        "no node takes the pod: Progressing, because a new node mends it, until the deadline",
        "ask for less, relax the placement, or add nodes",
    )
    # --- terminating and missing ------------------------------------------------------------
    DELETING = ("Deleting", Turn.NOBODY, "deletion has been asked for")
    NOT_FOUND = ("NotFound", Turn.NOBODY, "the object does not exist")
    # --- failed -----------------------------------------------------------------------------
    CLAIM_LOST = (
        "ClaimLost",
        Turn.USER,
        "the volume behind a claim is gone",
        "restore the volume or make a new claim",
    )
    CONTAINER_CONFIG_INVALID = (
        "ContainerConfigInvalid",
        Turn.USER,
        "a container refers to configuration that is not there",
        "create what is missing or correct the reference",
    )
    CONTAINER_START_FAILED = (
        "ContainerStartFailed",
        Turn.USER,
        "a container could not be created or started",
        "check the command, the mounts and the hooks",
    )
    CRASH_LOOPING = (
        "CrashLooping",
        Turn.USER,
        "a container stops soon after each start",
        "read the container's log (kubectl logs --previous)",
    )
    DEGRADED = (
        "Degraded",
        Turn.OWNER,
        "the object's controller reports a lasting departure from what is wanted",
    )
    IMAGE_PULL_FAILED = (
        "ImagePullFailed",
        Turn.USER,
        "a container's image cannot be had",
        "check the image's name and tag, and the pull secret",
    )
    JOB_FAILED = ("JobFailed", Turn.USER, "a Job ended without success", "read the pods' logs")
    MULTIPLE_ISSUES = (
        "MultipleIssues",
        Turn.OWNER,
        "parts of an aggregate are in the same state for different reasons",
    )
    NAMES_NOT_ACCEPTED = (
        "NamesNotAccepted",
        Turn.OWNER,
        "a CustomResourceDefinition's names clash with those of another",
        "choose other names or remove the other definition",
    )
    NODE_NOT_READY = ("NodeNotReady", Turn.OWNER, "a node does not answer or is not fit for pods")
    NOT_ESTABLISHED = (
        "NotEstablished",
        Turn.OWNER,
        "the server does not serve a CustomResourceDefinition",
    )
    POD_FAILED = ("PodFailed", Turn.USER, "a pod ended without success")
    PODS_FORBIDDEN = (
        "PodsForbidden",
        Turn.OWNER,
        "the server refuses the workload's pods: admission, webhook or service account",
        "change the pod template or the policy that refuses it",
    )
    PROGRESS_DEADLINE_EXCEEDED = (
        "ProgressDeadlineExceeded",
        Turn.USER,
        "a rollout made no progress within spec.progressDeadlineSeconds, and pods do not say why",
        "look at the pods' events",
    )
    QUOTA_EXCEEDED = (
        "QuotaExceeded",
        Turn.USER,
        "the namespace's quota leaves no room for the workload's pods",
        "raise the quota or ask for less",
    )
    SCHEMA_INVALID = (
        "SchemaInvalid",
        Turn.OWNER,
        "a CustomResourceDefinition's schema is not structural",
    )
    STALLED = (
        "Stalled",
        Turn.USER,
        "the object's controller says that it cannot go on without a change",
    )


class Evidence(msgspec.Struct, frozen=True):
    """One observation that led to a verdict: where it stands and what was there.

    ``path`` is a JSON path from the judged object's root, with ``Pod name:`` and the like before
    it when another object was looked at. Values are raw: unlike messages they may alternate
    between two looks (waiting reasons, counters).
    """

    path: str
    value: str | int | float | bool | None


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one object, or on several of them.

    ``reason`` is a member of the closed set `Reason` where `compute` judged, and an operator
    author's own word where evidence was given by hand; ``message`` is stable (no timestamps, no
    ticking counters, the same text for both phases of a back-off) and names the cause first.
    ``generation`` is the generation of the spec that was judged, 0 when the object has none.
    ``recheck_at`` is the moment after which time alone may change the verdict, None if only a
    change of an object can: whoever keeps the verdict must look again then.
    """

    state: State
    reason: str
    message: str
    turn: Turn
    evidence: tuple[Evidence, ...] = ()
    generation: int = 0
    recheck_at: datetime | None = None

    @property
    def ready(self) -> bool:
        """Whether the state is Ready."""
        return self.state is State.READY
