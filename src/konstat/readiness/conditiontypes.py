"""What a condition type means: which value is good news, and whether it decides.

First the exact types whose meaning is public, then the words of the type: ``WebhookReady``
supports, ``StorageFailed`` is bad news, ``Migrating`` is work under way. A type that nobody knows
has no role: it never makes anything ready.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Literal

from konstat.base import limits
from konstat.readiness import vocabulary as v
from konstat.readiness.vocabulary import word_set
from konstat.readiness.words import split

TypeRole = Literal[
    "summary", "supporting", "progress", "bad", "suspended", "work", "terminating", "running",
    "ignored", "active", "aside", "foreign",
]  # fmt: skip
"""As `kindrule.Role`; besides, ``running`` (good except for bounded work), ``active`` (counts only
where no summary does), ``aside`` (known to tell of something else) and ``foreign``."""


def _types(role: TypeRole, names: str) -> dict[str, TypeRole]:
    return dict.fromkeys(names.split(), role)


# Sources: the API conventions (Ready, Succeeded, Available, Progressing), kstatus (Reconciling,
# Stalled), OpenShift's ClusterOperator (Degraded, Upgradeable), Gateway API (Accepted, Programmed,
# ResolvedRefs, PartiallyInvalid), Crossplane (Ready, Synced, Healthy, Installed, Established),
# Cluster API (Available, Paused, Deleting, RollingOut, ScalingUp, Remediating, UpToDate), Knative
# (Active, *Ready, *Succeeded), Flux, KEDA (Active, Fallback), Kubeflow's training jobs (Created,
# Running, Restarting), KubeVirt (LiveMigratable, AgentConnected), Karpenter (Drifted, Empty, …).
_EXACT: Final[dict[str, TypeRole]] = {
    **_types(
        "summary",
        """
        Ready Available Healthy Established Accepted Programmed Reconciled Deployed Operational
        Online Functional Bound Serving Up OK Ok Normal Operating Live AllReady AllHealthy
        ReconcileComplete ReconcileSucceeded ReconcileSuccess ReconcileSuccessful
        AllComponentsReady AllComponentsHealthy ready available healthy
        """,
    ),
    **_types(
        "work", "Succeeded Complete Completed Finished Done Successful Success Succeed JobComplete"
    ),
    **_types(
        "supporting",
        """
        Synced Installed Applied Created Initialized Scheduled Valid Validated Configured
        Registered Resolved ResolvedRefs Connected Provisioned Attached Released Approved
        UpToDate Updated Admitted Verified Reachable Enforced Launched Joined Promoted Initialised
        Uploaded Stored Loaded Attested Signed Issued Paired Exposed Schedulable Compliant
        Responsive Offered ContinuousArchiving ACK.ResourceSynced ResourceSynced
        Deployment StatefulSet DaemonSet Service
        """,
    ),
    **_types(
        "progress",
        """
        Progressing Reconciling Updating Upgrading Creating Installing Pending Issuing Scaling
        Resizing Deploying Provisioning Initializing RollingOut RollingUpdate ScalingUp
        ScalingDown Remediating Restarting Queued Processing InProgress UpgradePending
        InstallPending Migrating Restoring FileSystemResizePending ReconcileInProgress
        UpdateInProgress UpgradeInProgress Rebalancing Recovering Moving Unready NotReady
        """,
    ),
    **_types(
        "bad",
        """
        Degraded Failed Failure Stalled Error Errors Invalid Unhealthy Conflict Conflicted Blocked
        ReplicaFailure Unschedulable Unavailable Unreachable FailureTarget Suspicious OutOfQuota
        ErrorOccurred NonStructuralSchema ReconcileError PartiallyInvalid Unsupported
        OverlappingRules OutOfDisk ACK.Terminal ACK.Recoverable Disruption
        """,
    ),
    **_types("suspended", "Paused Suspended Hibernated Hibernation ReconciliationPaused Stopped"),
    **_types("terminating", "Terminating Deleting Deleted Destroying"),
    **_types("running", "Running Started Executing"),
    **_types(
        "ignored",
        """
        Upgradeable RetrievedUpdates ReleaseAccepted Recommended ScalingLimited AbleToScale
        ScalingActive DisruptionAllowed Fallback Deprecated UpdateAvailable
        UpgradeAvailable HasUpdates Consolidatable Drifted Empty Idle Emulated LiveMigratable
        StorageLiveMigratable AgentConnected ACK.Adopted ACK.LateInitialized ACK.Advisory
        SuccessfulRescale Immutable DeploymentFrozen AutoscalingEnabled Unused InUse Default
        NewVersionAvailable BackupAvailable DryRun Retained Expiring Disruptable
        """,
    ),
    **_types("active", "Active"),
}

_GOOD_ENDS: Final = word_set(
    """
    ready available healthy succeeded complete completed established accepted programmed
    reconciled deployed operational online bound serving synced installed applied created
    initialized initialised scheduled valid validated configured registered resolved connected
    provisioned attached released approved updated verified reachable launched joined exists
    ok up success successful loaded found assigned allocated populated published
    rolledout issued generated elected discovered enabled satisfied met passed uptodate insync
    finished fetched built pushed resumed mounted reserved admitted activated propagated
    authenticated authorized signed imported exported downloaded uploaded formatted compliant
    supported set responsive joinable schedulable functional balanced provided synchronized
    synchronised formed delivered enforced stored verified active addressable
    """
)
_SUMMARY_ENDS: Final = frozenset(("ready", "available", "healthy"))
_WARNS: Final = word_set(
    """
    unavailable pressure exhausted low full overloaded saturated mismatch drift drifted skipped
    firing fenced unbalanced imbalanced loss dead zombie breach breached tainted stale obsolete
    skew alert alerts incident disrupted impacted high lagging
    """
)
# What a type says of trouble that it names: "DanglingReferenceFound", "ErrorsPresent".
# Words with which a type of trouble begins: "OverQuota", "UnderReplicated".
_BEGINS_BADLY: Final = word_set("over under frequent")
_BOUNDS: Final = word_set("limit limits quota quotas max maximum retries threshold deadline")
_LOADS: Final = word_set("usage cpu memory load latency utilization pressure")
_SEEN: Final = word_set(
    "detected found occurred observed present exist exists raised reported encountered"
)
# "-ing" that is what an object is for: to stop may be wanted, and where it is not, a summary tells.
_DOING: Final = word_set(
    """
    replicating archiving reporting collecting exporting subscribing listening streaming forwarding
    advertising receiving accepting publishing
    """
)
# "-ing" that is good, and bad news where it is not so.
_DOING_WELL: Final = word_set("succeeding passing responding functioning working operating")
# Words that make a type tell of something other than the object's own health.
_ASIDE: Final = word_set(
    """
    upgradeable upgradable updateable deprecated deprecation recommended recommendation
    advisory upgrade update newversion fallback optional experimental metrics telemetry advice
    hint info recommends autoscaling
    """
)
# Of which neither value is news of the object's own state.
_ASIDE_ENDS: Final = word_set(
    "detected allowed possible supported eligible paused resumable permitted capable drainable"
)


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def role_of(name: str, kind: str) -> TypeRole:
    """The role of a condition type on an object of ``kind``."""
    exact = _EXACT.get(name)
    if exact is not None:
        return exact
    bare = name.rpartition("/")[2]  # vendors put their domain before a type
    exact = _EXACT.get(bare)
    if exact is not None:
        return "supporting" if exact in ("summary", "work") and bare != name else exact
    words = split(bare)
    if words[:1] == ("is",) and bare[2:] in _EXACT:
        return _EXACT[bare[2:]]
    own = split(kind)
    if own and words[-1:] and words[: len(own)] == own and words[-1] in _SUMMARY_ENDS:
        between = words[len(own) : -1]
        return "summary" if between in ((), ("condition",)) else "supporting"
    return _by_words(words)


def _by_words(words: Sequence[str]) -> TypeRole:
    if not words:
        return "foreign"
    last = words[-1]
    negated = len(words) > 1 and words[-2] in v.NEGATION
    if last in ("warning", "warnings"):
        return "aside"
    if last == "managed":
        return "ignored"  # whether the operator cares for a part at all
    if last in v.FAILURE or last in _WARNS or words[0] in v.FAILURE:
        return "supporting" if negated or words[0] in v.NEGATION else "bad"
    if words[0] == "no" and len(words) > 1:
        return "bad"
    if words[0] == "valid":
        return "supporting"  # ValidConfiguration
    if last in ("required", "needed"):
        return "aside" if negated else "progress"
    if last == "running" or last in _DOING:
        return "running"
    if last in _DOING_WELL:
        return "bad" if negated or words[0] in v.NEGATION else "supporting"
    if len(words) > 1 and _warns(words, last):
        return "bad"
    if last == "limited":
        return "progress"  # RateLimited
    if last in _GOOD_ENDS:
        return _good(words, negated=negated)
    if _denies_good(last):
        return "aside" if negated or words[0] in v.NEGATION else "progress"
    if last in v.SUSPENDED:
        return "suspended" if len(words) == 1 or words[0].startswith("reconcil") else "aside"
    if last in v.TERMINATING:
        return "terminating" if len(words) == 1 else "aside"
    if last in v.PROGRESS or (
        len(last) > 5 and last.endswith("ing") and last not in v.NOT_PROGRESS
    ):
        return "aside" if negated or words[0] in v.NEGATION else "progress"
    return "aside" if last in _ASIDE or last in _ASIDE_ENDS else "foreign"


def _warns(words: Sequence[str], last: str) -> bool:
    """Whether several words together tell of a trouble, or of a bound that is reached."""
    if last == "reached":
        return not _BOUNDS.isdisjoint(words)
    if last in _SEEN:
        return _names_trouble(words[:-1])
    return words[0] in _BEGINS_BADLY or (words[0] == "high" and last in _LOADS)


def _names_trouble(words: Sequence[str]) -> bool:
    hard = "loss" in words or any(
        word in v.FAILURE and word not in v.SOFT_FAILURES for word in words
    )
    return hard and v.NEGATION.isdisjoint(words)


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def speaks_of_trouble(name: str) -> bool:
    """Whether a type that has no role names a trouble, which is there while it is True."""
    words = split(name.rpartition("/")[2])
    return "outof" in words or _names_trouble(words)


def _denies_good(word: str) -> bool:
    """Whether a word says that something is not so: "Unprogrammed"."""
    return word[:2] == "un" and (word[2:] in _GOOD_ENDS or word[2:] in v.GOOD)


def _good(words: Sequence[str], *, negated: bool) -> TypeRole:
    if negated or words[0] in v.NEGATION:
        return "progress"
    if len(words) > 1 and any(word in _ASIDE for word in words[:-1]):
        # "UpdateAvailable" is news of an update; "UpdateSucceeded" is about the object.
        told = words[-1] in v.COMPLETED or words[-1] in ("healthy", "provided")
        return "supporting" if told else "aside"
    return "supporting"
