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
    ALL_REPORTED_GOOD = (
        "AllReportedGood",
        Turn.NOBODY,
        "no condition sums the object up, but all that its status says of it is as wanted",
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
        "give the kind a Ready condition or a rule, or pass judge= to context.apply",
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
    APPROVAL_PENDING = (
        "ApprovalPending",
        Turn.OWNER,
        "a request waits until somebody with that right approves or denies it",
    )
    ATTACH_PENDING = ("AttachPending", Turn.NOBODY, "a volume is being attached to a node")
    KEYS_MISSING = (
        "KeysMissing",
        Turn.USER,
        "a Secret or ConfigMap lacks keys that its type or annotation asks for",
        "add the keys, or wait for whoever fills them in",
    )
    NOT_IN_FORCE = ("NotInForce", Turn.NOBODY, "a controller has not put the object in force yet")
    NOT_PICKED_UP = (
        "NotPickedUp",
        Turn.NOBODY,
        "no controller has answered for a parent, a target or a listener that the spec names",
    )
    SNAPSHOT_PENDING = ("SnapshotPending", Turn.NOBODY, "a snapshot is being taken")
    COUNTS_NOT_MET = (
        "CountsNotMet",
        Turn.NOBODY,
        "fewer parts are ready than are wanted, or a part says that it is not ready",
    )
    STATUS_AWAITED = (
        "StatusAwaited",
        Turn.NOBODY,
        "the kind's controller always writes this part of the status, and has not done so yet",
    )
    VOLUME_RELEASED = (
        "VolumeReleased",
        Turn.OWNER,
        "a volume's claim is gone and no other can have the volume until it is reclaimed",
        "delete the volume, or remove its claimRef, once nobody needs its data",
    )
    # --- terminating and missing ------------------------------------------------------------
    DELETION_STUCK = (
        "DeletionStuck",
        Turn.OWNER,
        "deletion lasts for long; finalizers, contents or a lost node hold the object",
        "look at the controllers that own what is named",
    )
    DELETING = ("Deleting", Turn.NOBODY, "deletion has been asked for")
    NOT_FOUND = ("NotFound", Turn.NOBODY, "the object does not exist")
    # --- failed -----------------------------------------------------------------------------
    API_UNAVAILABLE = (
        "ApiUnavailable",
        Turn.OWNER,
        "the server cannot reach an aggregated API",
        "look at the Service and the pods behind the APIService",
    )
    AUTOSCALER_BLIND = (
        "AutoscalerBlind",
        Turn.OWNER,
        "an autoscaler cannot read its metrics or cannot scale its target",
        "check the target's name, its resource requests and the metrics API",
    )
    CLAIM_NOT_FOUND = (
        "ClaimNotFound",
        Turn.USER,
        "a pod uses a PersistentVolumeClaim that does not exist",
        "create the claim or correct its name",
    )
    CLAIM_LOST = (
        "ClaimLost",
        Turn.USER,
        "the volume behind a claim is gone",
        "restore the volume or make a new claim",
    )
    CONFIGURATION_REFUSED = (
        "ConfigurationRefused",
        Turn.USER,
        "the object's controller refuses something in the spec, or misses what it refers to",
        "correct the spec, or create what it refers to",
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
    CLAIM_RESIZE_FAILED = (
        "ClaimResizeFailed",
        Turn.OWNER,
        "a claim's volume could not be resized or modified as asked",
        "look at the storage provider, or ask for what it can give",
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
    DENIED = ("Denied", Turn.USER, "a request was denied or could not be signed")
    FAILURE_REPORTED = (
        "FailureReported",
        Turn.OWNER,
        "the object's controller reports a failure",
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
    NOT_ACCEPTED = (
        "NotAccepted",
        Turn.USER,
        "a controller refuses the object, or a part of it, as it is written",
        "correct what the condition names",
    )
    NOT_ESTABLISHED = (
        "NotEstablished",
        Turn.OWNER,
        "the server does not serve a CustomResourceDefinition",
    )
    POD_EVICTED = (
        "PodEvicted",
        Turn.OWNER,
        "a pod was evicted, preempted or ended with its node",
        "make room on the nodes, or set requests and priorities",
    )
    POD_FAILED = ("PodFailed", Turn.USER, "a pod ended without success")
    POD_SECURITY_VIOLATED = (
        "PodSecurityViolated",
        Turn.USER,
        "the namespace's pod security standard refuses the workload's pods",
        "correct the pod template's security context",
    )
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
    REFERENCE_NOT_RESOLVED = (
        "ReferenceNotResolved",
        Turn.USER,
        "the object refers to something that is missing, not permitted or of the wrong kind",
        "correct the reference, or create or permit what it names",
    )
    SANDBOX_FAILED = (
        "SandboxFailed",
        Turn.OWNER,
        "a node cannot set up a pod's network or sandbox",
        "look at the node's network plugin and runtime",
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
    SERVICE_ACCOUNT_MISSING = (
        "ServiceAccountMissing",
        Turn.USER,
        "the workload's pods name a ServiceAccount that does not exist",
        "create the ServiceAccount or correct its name",
    )
    SNAPSHOT_FAILED = (
        "SnapshotFailed",
        Turn.OWNER,
        "the driver could not take, or cannot find, a snapshot",
    )
    STORAGE_CLASS_NOT_FOUND = (
        "StorageClassNotFound",
        Turn.USER,
        "a claim names a StorageClass that does not exist",
        "create the class or correct its name",
    )
    VOLUME_NOT_ATTACHED = (
        "VolumeNotAttached",
        Turn.OWNER,
        "a volume cannot be attached to the node that needs it",
        "look at the volume's driver, and at what else uses the volume",
    )
    VOLUME_NOT_MOUNTED = (
        "VolumeNotMounted",
        Turn.USER,
        "a volume of a pod cannot be mounted",
        "create what the volume refers to, or correct the reference",
    )
    VOLUME_NOT_PROVIDED = (
        "VolumeNotProvided",
        Turn.OWNER,
        "nothing provides the volume of a claim: its provisioner fails, or there is none",
        "look at the StorageClass and its provisioner",
    )
    WEBHOOK_FAILED = (
        "WebhookFailed",
        Turn.OWNER,
        "an admission webhook that must be asked does not answer",
        "look at the Service and the pods behind the webhook",
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
