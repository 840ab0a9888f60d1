"""The words in which controllers speak of their objects, each with what it means.

`words` splits reasons, phases and condition types into these words. The tables are curated: from
the API conventions, and from what the documentation of widely used kinds says their words mean.
Everything is in lower case and without separators; what stands in no table decides nothing.
"""

from __future__ import annotations

from typing import Final


def word_set(text: str) -> frozenset[str]:
    """The words of ``text``, which are separated by spaces."""
    return frozenset(text.split())


# --- single words ---------------------------------------------------------------------------

FAILURE: Final = word_set(
    """
    fail fails failed failing failure failures fault faults faulted faulty error errors errored
    erroring err fatal critical panic panicked exception exceptions crash crashed crashes
    crashing crashloop oom oomkilled killed aborted abort invalid malformed illegal incorrect
    wrong bad broken corrupt corrupted corruption denied deny denies forbidden unauthorized
    unauthenticated disallowed prohibited refused rejected reject rejects revoked untrusted
    unauthorised conflict conflicts conflicted conflicting mismatch mismatched mismatches
    incompatible inconsistent duplicate duplicated ambiguous inconclusive timeout timeouts
    expired exceeded exceeds overdue exhausted insufficient unsupported misconfigured
    misconfiguration misconfigurations unresolved unresolvable undefined unrecognized unparsable
    unparseable unsatisfiable impossible infeasible missing nonexistent lost unreachable
    disconnected offline already down degraded unhealthy stalled stuck
    evicted red emergency severe violation violations violated noncompliant unable cannot cant
    couldnt unrecoverable irrecoverable undeliverable unexpected rolledback cancelled canceled
    backoff outage unprocessable interrupted impaired diverged orphaned splitbrain deadlock
    inaccessible warning warnings warn dropped diskfull storagefull ignored faulty
    irreconcilable immutable unreconcilable abnormal problem problems alarm alarms terminal
    deadlocked dangling overlapping shadowed compromised tampered unsafe
    starved hung leaderless quarantined poisoned unstable flapping overcommitted oversubscribed
    overloaded unusable uncorrectable irreparable inoperable inoperative nonoperational
    dysfunctional defective damaged wedged
    """
)
# Of these, those that an object shows on its way too.
SOFT_FAILURES: Final = word_set("warning warnings warn")

# Something is on its way. Words in "-ing" that stand in no table count too, more weakly.
PROGRESS: Final = word_set(
    """
    pending progressing progress inprogress creating provisioning waiting wait waits await
    awaiting awaits reconciling starting installing updating initializing initialising
    initialization deploying syncing synchronizing issuing requested queued enqueued queueing
    upgrading preparing pulling downloading building cloning scaling resizing restarting
    migrating restoring bootstrapping bootstrap joining configuring applying attaching binding
    registering importing exporting compiling processing executing retrying retry retries
    validating verifying planning refreshing rebalancing recovering promoting propagating
    allocating draining finalizing uninstalling cleaning uploading copying saving loading
    warming adding removing changing modifying patching replicating switching transitioning
    resuming rotating renewing generating acquiring establishing connecting detecting
    discovering detaching expanding growing shrinking booting imaging inspecting incomplete
    unready notready uninitialized unprovisioned converging activating adopting ongoing unbound
    unsynced outdated outofsync outofdate yellow startup rolling failover switchover scalingdown
    scalingup rollingback rollingupdate rollback submitted unassigned unattached notstarted
    undeployed unreconciled delayed deferred postponed partial partially throttled throttling
    settling catchup reconnecting rebuilding resyncing reloading blocked requires require
    needs unapproved unschedulable
    """
)

GOOD: Final = word_set(
    """
    ready available healthy health ok okay green up online operational normal good active bound
    deployed installed established synced insync synchronized reconciled uptodate current
    connected attached optimal functional functioning live alive stable steady enabled serving
    working listening provisioned passed pass succeeded success successful successfully
    completed complete done finished running compliant succeed valid
    """
)

# Of the good words, those that say by themselves that an object does what is asked of it.
DECIDING: Final = word_set(
    """
    ready available healthy ok okay green up online operational normal good active bound
    deployed established insync uptodate optimal functional functioning live alive stable steady
    serving working running reconciled compliant synced enabled installed connected
    """
)

COMPLETED: Final = word_set(
    "succeeded success successful successfully completed complete done finished passed succeed"
)
# How requests and other bounded work say that they were done.
ENDED: Final = word_set(
    """
    processed exported uploaded applied resolved published delivered sent signed issued executed
    fulfilled provisioned released
    """
)
RUNNING: Final = word_set(
    "running active executing started up live alive serving working listening enabled online"
)
SUSPENDED: Final = word_set(
    """
    paused suspended hibernated hibernating hibernation suspend pause stopped disabled sleeping
    asleep halted frozen quiesced shutdown shutoff poweredoff shelved unmanaged inactive dormant
    parked onhold held
    """
)
TERMINATING: Final = word_set(
    "terminating deleting deleted deletion destroying destroyed terminated deprovisioning"
)
UNKNOWN: Final = word_set("unknown undetermined indeterminate unspecified")
NEGATION: Final = word_set("no not non without never zero free isnt wasnt hasnt")
# Words between others that change nothing.
FILLERS: Final = word_set(
    """
    a an the is are was has have been in on of at to and all state status phase cluster resource
    resources pod pods node nodes instance instances replica replicas service services component
    components with by its it reconcile reconciliation reconciler sync as member members
    database application deployment broker brokers server servers
    """
)
# "-ing" that names a thing or is neutral.
NOT_PROGRESS: Final = word_set(
    """
    string thing nothing something everything anything existing mapping routing binding building
    listing billing monitoring logging networking ping ring setting settings remaining missing
    failing warning running serving working listening functioning during using having being
    scheduling pricing peering tracing auditing king spring bring single housing sharing
    watching managing polling tracking receiving sending accepting streaming autoscaling
    loadbalancing hosting encoding according following sizing
    """
)
# Who has to act on a failure: whoever wrote the spec, when one of these stands beside it.
USERS: Final = word_set(
    """
    invalid spec validation config configuration configured misconfigured misconfiguration
    unsupported denied forbidden unauthorized unauthenticated unauthorised notfound missing
    secret secrets credential credentials image quota permitted permission permissions conflict
    conflicts conflicted syntax parse parsing parameter parameters schema immutable reference
    ref refs duplicate duplicated unresolved illegal malformed template values value ambiguous
    incompatible nonexistent policy disallowed rejected kubeconfig argument arguments
    undefined mismatch unrecognized hostname url uri spec specification input inputs expression
    auth authentication authorization accessdenied found exist allowed supported accepted
    insufficient retriable retryable token tokens license licence limit limits already matching
    artifact git checkout handshake
    """
)

# Phases that mean more, or something else, when they stand alone.
ALONE: Final[dict[str, str]] = {
    **dict.fromkeys(word_set("unavailable down dead notok nok ko"), "FAILED"),
    **dict.fromkeys(
        word_set(
            """
            new init initial initialized created accepted prepared scheduled assigned allocated
            launched claimed admitted approved started registered
            """
        ),
        "EARLY",
    ),
    **dict.fromkeys(
        word_set("processed applied exported uploaded resolved idle standby detached unused empty"),
        "GOOD",
    ),
    "valid": "READY",
    "updated": "READY",
    "unknown": "UNKNOWN",
    "undetermined": "UNKNOWN",
}

# What follows "not": not there yet, or a refusal.
NOT_YET: Final = word_set(
    """
    ready available running yet initialized initialised started provisioned installed deployed
    complete completed synced created reconciled bound established attached connected up active
    scheduled programmed assigned configured joined registered finished succeeded reported
    observed published issued healthy live online loaded elected updated uptodate processed
    applied populated propagated launched bootstrapped resolved done current latest
    converged
    """
)
NOT_FAILED: Final = word_set(
    """
    found supported allowed permitted accepted valid enough authorized authenticated exist
    exists granted compatible admitted unique implemented recognized acceptable provided
    specified defined declared reachable
    """
)

# --- texts of messages ----------------------------------------------------------------------

MESSAGE_FAILURES: Final = (
    "error", "fail", "cannot", "can't", "could not", "couldn't", "unable to", "not found",
    "does not exist", "doesn't exist", "denied", "forbidden", "unauthorized", "invalid",
    "timed out", "timeout", "refused", "no such", "unsupported", "not supported", "exceeded",
    "must be", "must not", "must have", "not allowed", "crashloop", "backoff", "back-off",
    "imagepull", "misconfigur", "conflict", "rejected", "unreachable", "is missing", "no matches",
    "doesn't match", "does not match", "not reachable", "no key could", "dropped", "rejecting",
    "panic", "oomkilled", "not permitted", "x509", "already exists", "already in use",
    "unhealthy", "degraded", "not recognized", "malformed", "insufficient", "no route to host",
    "is required",
)  # fmt: skip
MESSAGE_HARMLESS: Final = ("no error", "0 error", "without error", "no failure", "0 failed")
MESSAGE_PROGRESS: Final = (
    "in progress", "waiting ", "not yet", "being ", "pending", "still ", "will be ", " until ",
    "creating", "provisioning",
)  # fmt: skip
# A message that begins so reports a failure, whatever its reason says of the next attempt.
MESSAGE_STARTS: Final = (
    "cannot ", "can't ", "could not ", "couldn't ", "failed to ", "error ", "error: ", "unable to ",
    "failed: ", "failure: ", "fatal",
)  # fmt: skip
# What cannot be done yet is a wait: "cannot be modified until 'available'".
MESSAGE_WAITS: Final = ("cannot", "can't", "could not", "unable to", "must be", "not allowed")
MESSAGE_USERS: Final = (
    "not found", "does not exist", "doesn't exist", "invalid", "specification", " spec",
    "forbidden", "unauthorized", "denied", "not support", "unsupported", "already in use",
    "already exists", "did not match", "must be", "must not", "must have", "is required",
    "not allowed", "quota", "credentials", "no matches for", "malformed", "unknown field",
    "is missing", "incorrect",
    "does not have", "doesn't have", "not permitted", "no such", "cannot parse", "yaml", "template",
    "accumulating", "immutable", "authentication failed", "bad password",
    "unknown authority", "remote ref",
    "wrong password", "conflicts with",
)  # fmt: skip
