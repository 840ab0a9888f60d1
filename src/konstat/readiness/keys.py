"""What the name of a status field says about the field: a phase, an error, a count, and so on.

`fields` walks a status and asks `role_of_key` about every key; the answers are remembered, because
operators use few distinct names.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import Final

from konstat.base import limits
from konstat.readiness import vocabulary as v
from konstat.readiness.vocabulary import word_set
from konstat.readiness.words import split


class KeyRole(IntEnum):
    """How the value under a key is read."""

    PART = 0  # only what is inside it, if anything
    SKIP = 1  # the past, the wish, or somebody else's affairs
    CONDITIONS = 2
    GENERATION = 3
    PHASE = 4  # a word on the whole object
    SIDE_PHASE = 5  # a word on some side of it: only bad news counts
    FLAG = 6  # a boolean on the whole object
    SIDE_FLAG = 7  # a boolean on some side: False counts
    BAD_FLAG = 8  # a boolean of which True is bad news, or a list of what is wrong
    PAUSE_FLAG = 9
    ERROR = 10  # a text or a list that should be empty
    RECORD = 11  # the outcome of the last operation
    COUNT = 12
    REASON = 13  # of a phase: bad news only
    VERSION = 14  # what is there now, to be compared with what is to be there
    WHOLE = 15  # a mapping that sums the object up, such as `cluster`
    LACKING = 16  # a list of the parts that are not ready
    WORK_FLAG = 17  # a boolean of which True is work under way
    LEVEL = 18  # how grave a finding is


_PHASES: Final = word_set(
    """
    phase state status health healthstatus healthstate currentphase currentstate currentstatus
    jobstate jobstatus jobphase clusterstate clusterstatus clusterphase clusterhealth
    lifecyclestate lifecyclephase lifecyclestatus deploymentstate deploymentstatus runstate
    runstatus runphase provisioningstate overallstatus overallstate overallhealth readystatus
    resourcestatus objectstatus servicestatus servicestate instancestatus instancestate
    applicationstate applicationstatus reconciliationstatus reconciliationstate
    reconcilestatus reconcilestate operatorstatus operatorstate databasestatus statusphase
    podphase workflowphase runningstate runningphase installstatus installphase
    bootstrapstatus readiness readystate operationalstatus
    compliant compliancestate compliance stage robustness
    """
)
_GENERATIONS: Final = word_set(
    """
    observedgeneration observedresourcegeneration lastobservedgeneration
    observedspecgeneration lastprocessedgeneration lastgeneration processedgeneration
    reconciledgeneration
    lastreconciledgeneration observedobjectgeneration lasthandledgeneration currentgeneration
    deployedgeneration lastappliedgeneration syncedresourceversion generationobserved specgeneration
    lastsyncedgeneration lastsuccessfulgeneration observedversiongeneration
    """
)
_WHOLES: Final = word_set("cluster conditionstatus overall summary overallstatus")
_LACKING: Final = word_set("unready notready unhealthymembers unreadymembers unreadynodes")
_FLAGS: Final = word_set("ready healthy available isready ishealthy readytouse applied")
_SIDE_FLAG_WORDS: Final = word_set(
    """
    ready available healthy initialized provisioned synced installed deployed complete
    completed done finished succeeded bound established registered connected reconciled valid
    attached created configured active synchronized enforced verified published joined applied
    reachable quorum online functional operational
    """
)
_RECORDS: Final = word_set(
    """
    lastoperation operationstate lastoperationstate lastreconciliation lastreconcile lastsync
    lastsyncresult lastrun lastexecution lastapply reconciliation reconcilestatus
    reconciliationstatus lastoperationresult currentoperation operation lastdeployment
    lastreconcileresult lastoperationstatus
    """
)
# Words that make a field tell of the past, of the wish, or of other objects' lists.
_ASIDE: Final = word_set(
    """
    last previous prev old prior desired target expected wanted initial former history
    historical requested events event logs log archived superseded retained
    recent retry
    """
)
_SKIPPED: Final = word_set(
    """
    history events managedfields conditionhistory lastappliedconfiguration inventory
    spec template manifest warnings relatedobjects retries attempts versions images endpoints
    """
)
# Words of progress that are settings, or nouns, as names of fields.
_NO_WORK: Final = word_set(
    """
    retry retries rollback failover switchover startup wait partial partially requires require
    needs initialization bootstrap progress yellow deferred loading binding queueing importing
    exporting processing registering throttling
    """
)
_LEVELS: Final = word_set("level severity")
# Which is the latest, and no past.
_OBSERVED: Final = word_set("lastobservedstate lastobservedstatus lastobservedphase")
# Of the object itself, of which the last is the one that counts: `lastUpdateStatus`.
_CHANGES: Final = word_set(
    """
    update upgrade deploy deployment operation reconcile reconciliation sync apply change rollout
    configuration
    """
)
_ATTEMPTS: Final = word_set("trial trials attempt attempts iteration iterations")
_ERROR_ENDS: Final = word_set(
    """
    error errors message messages reason cause description msg details text problems problem code
    """
)
_WHY: Final = word_set("message reason cause description msg details")
_SIDES: Final = word_set("phase state status health robustness verdict result outcome conclusion")
_ERRORS: Final = word_set("error errors failure failures exception exceptions problem problems")
VERSIONED: Final = word_set("version revision image generation hash")
_COUNTED: Final = word_set(
    """
    ready available updated healthy running current desired total expected up unavailable
    """
)


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def role_of_key(key: str) -> KeyRole:
    """How the value under ``key`` of a status, or of a part of one, is to be read."""
    words = split(key)
    if not words:
        return KeyRole.PART
    bare = "".join(words)
    if bare == "reason":
        return KeyRole.REASON
    exact = _exact(bare)
    if exact is not None:
        return exact
    last = words[-1]
    if words[0] == "failed" and not _ATTEMPTS.isdisjoint(words):
        return KeyRole.SKIP  # what was tried besides, as an experiment does
    if words[0] == "current" and len(words) == 2 and last in VERSIONED:
        return KeyRole.VERSION
    if last in _ERROR_ENDS and _is_of_errors(words):
        return KeyRole.ERROR
    if words[0] == "last" and last in _SIDES and not _CHANGES.isdisjoint(words):
        return KeyRole.RECORD
    if words[0] in _ASIDE or last in _ASIDE:
        return KeyRole.SKIP
    if last in _SIDES:
        if len(words) > 1 and words[-2] == "cluster":
            return KeyRole.PHASE
        return KeyRole.SIDE_PHASE
    return _flag(words, last)


def _is_of_errors(words: tuple[str, ...]) -> bool:
    """Of ``lastErrorMessage`` and of ``degradedReason``, but not of ``failedMessages``."""
    if any(word in _ERRORS for word in words):
        return True
    return words[0] in v.FAILURE and words[0] not in v.SOFT_FAILURES and words[-1] in _WHY


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def names_kind(key: str, kind: str) -> bool:
    """Whether a key such as ``poolStatus`` names a kind such as ``DiskPool``."""
    words = split(key)[:-1]
    return bool(words) and set(words) <= set(split(kind))


def _exact(bare: str) -> KeyRole | None:
    if bare == "conditions" or bare.endswith("conditions"):
        return KeyRole.SKIP if bare.startswith(("last", "previous")) else KeyRole.CONDITIONS
    for names, role in (
        (_GENERATIONS, KeyRole.GENERATION),
        (_PHASES, KeyRole.PHASE),
        (_FLAGS, KeyRole.FLAG),
        (_WHOLES, KeyRole.WHOLE),
        (_LACKING, KeyRole.LACKING),
        (_RECORDS, KeyRole.RECORD),
        (_SKIPPED, KeyRole.SKIP),
        (_LEVELS, KeyRole.LEVEL),
        (_OBSERVED, KeyRole.SIDE_PHASE),
    ):
        if bare in names:
            return role
    return None


def _flag(words: tuple[str, ...], last: str) -> KeyRole:
    if last == "active" and words[:-1] not in ((), ("is",)):
        return KeyRole.PART  # of a time-out, a session, an alarm
    if last in _SIDE_FLAG_WORDS and words[-2:-1] == ("not",):
        return KeyRole.LACKING  # "nodesNotReady"
    if last in _SIDE_FLAG_WORDS or words == ("powered", "on"):
        return KeyRole.PART if words[0] in v.NEGATION else KeyRole.SIDE_FLAG
    if last in ("warning", "warnings", "violations"):
        return KeyRole.SKIP  # of somebody else's objects, or no fault
    if last in v.FAILURE or (words[0] in v.FAILURE and last not in ("count", "total")):
        return KeyRole.PART if words[0] in v.NEGATION else KeyRole.BAD_FLAG
    if last in v.SUSPENDED and words[0] not in v.NEGATION:
        return KeyRole.PAUSE_FLAG
    if (last in v.PROGRESS and last not in _NO_WORK) or last in ("deleting", "terminating"):
        return KeyRole.PART if words[0] in v.NEGATION else KeyRole.WORK_FLAG
    if words[0] in _COUNTED or last in _COUNTED or last in ("replicas", "nodes", "instances"):
        return KeyRole.COUNT
    return KeyRole.PART


# --- wishes ---------------------------------------------------------------------------------

PAUSING_FIELDS: Final = (
    "suspend", "suspended", "paused", "pause", "hibernate", "hibernated", "stopped", "stop",
    "isPaused", "isSuspended", "pauseReconciliation", "reconciliationPaused", "disabled",
)  # fmt: skip
SWITCHES: Final = ("enabled", "running", "active")  # of which false asks for rest
STATE_FIELDS: Final = ("state", "desiredState", "managementState", "runStrategy", "powerState")
STATES_AT_REST: Final = word_set(
    """
    paused suspended stopped hibernated hibernating halted unmanaged disabled sleeping inactive
    shutdown off poweredoff removed
    """
)
# Where specs keep such a wish one level deeper.
NESTED_WISHES: Final = (
    ("job", "state"), ("job", "suspend"), ("runPolicy", "suspend"), ("hibernation", "enabled"),
    ("lifecycle", "desiredPhase"), ("lifecycle", "desiredState"), ("suspend", "enabled"),
    ("pause", "enabled"), ("hibernate", "enabled"), ("jobTemplate", "suspend"),
)  # fmt: skip
FALSE_WORDS: Final = frozenset(("false", "no", "off", "0", "disabled", "none", "null"))
_PAUSE_WORDS: Final = word_set(
    """
    paused pause suspend suspended hibernate hibernated hibernation detached
    """
)


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def pauses(annotation: str) -> str:
    """How an annotation can hold its object: ``when true``, ``when false`` or not (empty)."""
    words = split(annotation.rpartition("/")[2])
    if not words:
        return ""
    if (words[0] in _PAUSE_WORDS or words[-1] in _PAUSE_WORDS) and "not" not in words:
        return "when true"
    if words[0] in ("skip", "disable", "disabled") and words[-1].startswith("reconcil"):
        return "when true"
    if words in (("reconcile",), ("managed",), ("reconciliation",), ("reconcile", "enabled")):
        return "when false"
    return ""
