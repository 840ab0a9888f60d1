"""Every bound of konstat in one table, with the reason for its value.

Nothing in konstat waits, retries, queues or writes without a bound; a bound that is not here
is a mistake. Seconds and bytes are in the names.
"""

from __future__ import annotations

from typing import Final

# --- HTTP -----------------------------------------------------------------------------------
REQUEST_TIMEOUT_SECONDS: Final = 30.0  # kube-apiserver's own default is 60; a status write takes ms
CONNECT_TIMEOUT_SECONDS: Final = 10.0
REQUEST_CONNECTIONS: Final = 16  # one HTTP/1.1 pool; the server does ~300 writes/s on two cores
WATCH_CONNECTIONS: Final = 256  # one per watched kind and namespace
RESPONSE_BYTES: Final = 256 * 1024 * 1024  # a page of 500 objects at etcd's limit of 1.5 MiB fits
WATCH_LINE_BYTES: Final = 8 * 1024 * 1024  # an object is at most 1.5 MiB in etcd; old + new + slack
REQUEST_TRIES: Final = 4  # for answers that say "later" and for connections closed under us
RETRY_AFTER_MAXIMUM_SECONDS: Final = 60.0
REQUEST_RETRY_FIRST_SECONDS: Final = 0.1
REQUEST_RETRY_MAXIMUM_SECONDS: Final = 2.0
REMEMBERED_HEADERS: Final = 64  # pairs of Content-Type and Accept; konstat uses under ten
REMEMBERED_QUERIES: Final = 128  # encoded ones; writes of a manager use a few for each controller
REMEMBERED_WARNINGS: Final = 256  # distinct Warning headers that are logged once
LIST_RESTARTS: Final = 3  # of a paged list whose continue token expired
DISCOVERY_GROUPS: Final = 1000
IDLE_CONNECTION_SECONDS: Final = 45.0  # kept for reuse; load balancers cut at 60 and more
CLOSE_TURNS: Final = 100  # waits for broken sockets to be closed; the first nearly always does
CLOSE_TURN_SECONDS: Final = 0.01
KEEPALIVE_IDLE_SECONDS: Final = 30  # TCP keepalive: a dead peer is found in about a minute
KEEPALIVE_INTERVAL_SECONDS: Final = 10
KEEPALIVE_PROBES: Final = 3
UNACKNOWLEDGED_SECONDS: Final = 30  # TCP_USER_TIMEOUT: sent bytes without an acknowledgement

# --- credentials ----------------------------------------------------------------------------
EXEC_PLUGIN_TIMEOUT_SECONDS: Final = 30.0
EXEC_PLUGIN_INTERACTIVE_SECONDS: Final = 300.0  # a person types a password or uses a browser
EXEC_PLUGIN_END_SECONDS: Final = 2.0  # after SIGKILL
EXEC_PLUGIN_OUTPUT_BYTES: Final = 1024 * 1024
EXEC_PLUGIN_EARLY_SECONDS: Final = 10.0  # a credential is renewed so long before it expires
CREDENTIAL_FILE_BYTES: Final = 4 * 1024 * 1024  # kubeconfig, CA bundles, certificates, tokens
CERTIFICATE_REREAD_SECONDS: Final = 30.0  # how often CA and certificate files are looked at
TOKEN_FILE_REREAD_SECONDS: Final = 60.0  # as client-go; kubelet rotates at 80 % of life

# --- objects --------------------------------------------------------------------------------
QUANTITY_CHARACTERS: Final = 128  # 2^63-1 nanounits have 28 digits
DURATION_CHARACTERS: Final = 128
SELECTOR_CHARACTERS: Final = 64 * 1024  # it travels in a URL

# --- YAML -----------------------------------------------------------------------------------
YAML_CHARACTERS: Final = 16 * 1024 * 1024  # bundles of CRDs reach a few MiB
YAML_VALUES: Final = 1_000_000  # with anchors written out
YAML_DEPTH: Final = 200  # the deepest structural schemas stay under 50

# --- list and watch -------------------------------------------------------------------------
LIST_PAGE_OBJECTS: Final = 500  # client-go's page size
WATCH_TIMEOUT_SECONDS: Final = 300  # asked of the server: what bounds silence
WATCH_GRACE_SECONDS: Final = 30.0  # past the server's own timeout before we call a stream dead
WATCH_FRUITLESS_RESUMES: Final = 5  # streams that end at once without news, then a fresh list
WATCH_BACKOFF_FIRST_SECONDS: Final = 0.5
WATCH_BACKOFF_MAXIMUM_SECONDS: Final = 30.0
WATCH_QUIET_CHECK_SECONDS: Final = 300.0  # at most so often is the server's version asked for
UNAVAILABLE_FIRST_SECONDS: Final = 1.0  # a CRD or a role may be seconds away
UNAVAILABLE_RETRY_SECONDS: Final = 30.0  # how often a forbidden or absent kind is tried again
DECODE_SLICE_OBJECTS: Final = 50  # decoded between two turns of the event loop
COMPRESS_BYTES: Final = 2048  # cached JSON above this is kept compressed
SHARED_TEXTS: Final = 16_384  # namespaces and labels that snapshots share
WATCH_LIST_SECONDS: Final = 60  # for the initial events of a watch; then pages are listed
WATCH_SHORT_SECONDS: Final = 1.0  # a stream that lived no longer is not resumed at once
WATCH_QUIET_SECONDS: Final = 10.0  # a stream that lived longer is alive although nothing came
RELIST_SECONDS: Final = 3600.0 * 10  # repairs what no stream can tell; as rare as the resync
STORE_TOMBSTONES: Final = 4096  # deletions remembered, so that a late answer raises no ghost
STORE_OWN_VERSIONS: Final = 16  # own writes of one object that the watch has not shown yet

# --- queue and attempts ---------------------------------------------------------------------
CONCURRENT_ATTEMPTS: Final = 8
RETRY_FIRST_SECONDS: Final = 0.5
RETRY_MAXIMUM_SECONDS: Final = 300.0
ATTEMPTS_PER_SECOND: Final = 200.0  # that ask something of the server, over all keys
ATTEMPTS_BURST: Final = 400
ATTEMPT_IDLE_SHARE: Final = 0.05  # of the rate, for an attempt that asks nothing of the server
RESYNC_SLICE_KEYS: Final = 1000  # queued by a resync between two turns of the event loop
RESYNC_TURN_TAKES: Final = 8  # fresh keys taken before a waiting resync key gets its turn
RESYNC_SECONDS: Final = 3600.0 * 10  # controller-runtime's default; level-triggering needs no more
ATTEMPT_TIMEOUT_SECONDS: Final = 300.0
RESET_AFTER_SECONDS: Final = 1.0  # promise 1: an unsettled attempt on a new generation says so
STOP_GRACE_SECONDS: Final = 20.0  # under a pod's 30 s
ATTEMPT_END_SECONDS: Final = 2.0  # for a cancelled attempt to tidy up, before the next …
ATTEMPT_CANCELLATIONS: Final = 3  # … of so many; one that ignores them all is given up
FIRST_LIST_SECONDS: Final = 30.0  # a kind that only fails holds its controller back so long
UNREADABLE_SECONDS: Final = 10.0  # a kind that stays unreadable so long makes us look again
AVAILABILITY_LOOK_SECONDS: Final = 1.0  # at what cannot be read, and whether it can again
AVAILABILITY_TOLD_SECONDS: Final = 300.0  # what stays unreadable is told again so often
AVAILABILITY_SURE_SECONDS: Final = 5.0  # until a schema that lacks fields is believed
AVAILABILITY_SCHEMA_TRIES: Final = 5  # of reading a schema that is not published, or changes
DEFINITION_VERSIONS: Final = 32  # of one group that are asked about
SECRETS_REMEMBERED: Final = 200  # of those that one attempt reads, to keep them out of texts
SECRET_CHARACTERS: Final = 6  # shorter values occur in texts by chance
LOG_TRACEBACK_CHARACTERS: Final = 16 * 1024  # of one traceback in the log
MAP_TRACE_SECONDS: Final = 60.0  # between two tracebacks of one map function that fails
READS_LIVE_PER_ATTEMPT: Final = 200
CALLS_NOTED: Final = 256  # of one attempt, before those that were begun are forgotten
PRUNED_PER_ATTEMPT: Final = 500  # the rest goes at the next attempt
RECHECK_LEAST_SECONDS: Final = 0.5  # for verdicts that time alone may change
STATUS_RETRY_FIRST_SECONDS: Final = 1.0  # after a status write that the server could not take
STATUS_RETRY_MAXIMUM_SECONDS: Final = 60.0
LOOP_WATCH_SECONDS: Final = 0.25  # how often the watchdog measures
LOOP_BLOCKED_SECONDS: Final = 1.0  # a reconcile that blocks the loop this long is reported
STALL_FRAMES: Final = 20  # of the stack that is shown then, the innermost ones

EVENT_FLUSH_SECONDS: Final = 3.0  # for events still queued when the manager stops
CRD_ESTABLISHED_SECONDS: Final = 30.0
CRD_POLL_SECONDS: Final = 0.1

# --- status ---------------------------------------------------------------------------------
STATUS_BYTES: Final = 32 * 1024  # soft budget; etcd's limit is 1.5 MiB
STATUS_HARD_BYTES: Final = 512 * 1024  # of its fields; refused above, as spec needs room too
CONDITIONS: Final = 32  # Cluster API's maxItems
MESSAGE_CHARACTERS: Final = 1024  # the API allows 32768; people read a line or two
REASON_CHARACTERS: Final = 1024  # metav1.Condition
CONDITION_TYPE_CHARACTERS: Final = 316  # metav1.Condition
MESSAGE_CAUSES: Final = 3
MESSAGE_NAMES: Final = 3
STATUS_WRITE_TRIES: Final = 5
FINALIZER_WRITE_TRIES: Final = 5
APPLY_TRIES: Final = 3  # of one child that moves under us
MANIFEST_DEPTH: Final = 100  # the server's limit of JSON is 10,000; real objects stay under 30
MANIFEST_PATH_CHARACTERS: Final = 120  # of a path inside a message
APPLY_HISTORIES: Final = 10_000  # children whose reverts and corrections are remembered
REVERTS: Final = 2  # a field undone this often by the server is reported, not fought for
CONTESTED_CORRECTIONS: Final = 10  # by a rival writer, within …
CONTESTED_WINDOW_SECONDS: Final = 60.0

# --- readiness ------------------------------------------------------------------------------
READINESS_DETAIL_CHARACTERS: Final = 240  # of a kubelet's or scheduler's text inside a message
READINESS_EVIDENCE: Final = 8  # observations that one verdict carries
READINESS_NODES: Final = 50_000  # values of one status: 1.5 MiB hardly hold more …
READINESS_DEPTH: Final = 8  # … and levels, of a status that somebody else wrote
READINESS_WORD_CHARACTERS: Final = 200  # of a reason, a type or a phase that are analysed
READINESS_CACHED_WORDS: Final = 4096  # reasons, types, kinds: operators write few distinct ones
READINESS_REMEMBERED_CHARACTERS: Final = 400  # of a condition whose meaning is remembered
RULE_BYTES: Final = 4 * 1024 * 1024  # of a file of readiness rules; built-in ones have 10 KB
READINESS_CACHED_KEYS: Final = 32  # numbers side by side whose meaning is remembered
CRASH_HOLD_SECONDS: Final = 600.0  # the kubelet forgets its back-off after ten good minutes
CRASH_HOLD_MINIMUM_SECONDS: Final = 30.0  # a restarted container proves itself at least so long
DELETION_STUCK_SECONDS: Final = 300.0  # past the grace; cloud resources need minutes to go
EVENT_FRESH_SECONDS: Final = 1200.0  # controllers repeat a failed creation within 1000 s
UNHEALTHY_GRACE_SECONDS: Final = 60.0  # an API or a metric just begun to fail is Progressing

# --- events and metrics ---------------------------------------------------------------------
EVENT_QUEUE: Final = 1000
EVENT_NOTE_BYTES: Final = 1024  # what the server takes as note of an event, in UTF-8
EVENT_WORD_BYTES: Final = 128  # what it takes as reason, action and reporting instance
EVENT_SERIES_SECONDS: Final = 360.0  # the series window of client-go's recorder
EVENT_SERIES_KEYS: Final = 4096
HEALTH_STOP_SECONDS: Final = 1.0  # for answers of /metrics that are still being read

# --- nodes ----------------------------------------------------------------------------------
NODE_LEASE_SECONDS: Final = 40
NODE_RENEW_SECONDS: Final = 10.0
NODE_RETRY_FIRST_SECONDS: Final = 0.2  # registering and renewing; the lease lives 40 s
NODE_RETRY_MAXIMUM_SECONDS: Final = 5.0
NODE_STATUS_SECONDS: Final = 300.0  # a kubelet's nodeStatusReportFrequency
NODE_REMOVE_SECONDS: Final = 10.0  # for taking our nodes away at the end
NODES: Final = 256  # each has a /22 of 10.244.0.0/14
PODS_PER_NODE: Final = 110
PODS_PER_NODE_MAXIMUM: Final = 500  # a /22 has 1022 addresses: none is used again at once
KUBELET_BACKOFF_FIRST_SECONDS: Final = 10.0  # of images and of crashing containers, as a kubelet
KUBELET_BACKOFF_MAXIMUM_SECONDS: Final = 300.0
KUBELET_SHOWN_SECONDS: Final = 2.0  # an error is seen as itself so long, before the back-off is
KUBELET_RECHECK_SECONDS: Final = 2.0  # for ConfigMaps and Secrets that were not there
IMAGE_REFERENCE_CHARACTERS: Final = 1024
IMAGE_NAME_CHARACTERS: Final = 255  # host and path; longer is refused by runtimes
NODE_NAMES_SECONDS: Final = 0.1  # for changes of Services and pods to come together
PROCESSES: Final = 256  # containers that run as local processes at once
PROCESS_COMMAND_CHARACTERS: Final = 64 * 1024  # of one mapping; Linux takes 128 KiB an argument
PROCESS_END_SECONDS: Final = 5.0  # for processes to end by themselves when the actor ends
PROCESS_KILL_SECONDS: Final = 5.0  # for a keeper to end all it keeps, which takes it milliseconds
PROCESS_FOLDER_TRIES: Final = 5  # of removing a folder that something still wrote to
CONTAINER_LOG_BYTES: Final = 10 * 1024 * 1024  # of one file, as a kubelet; there are two
CONTAINER_LOG_LINE_BYTES: Final = 16 * 1024  # longer lines are stored in pieces, as by containerd
CONTAINER_LOG_READ_BYTES: Final = 64 * 1024
TERMINATION_MESSAGE_BYTES: Final = 4096  # as a kubelet takes from the file …
TERMINATION_LOG_BYTES: Final = 2048  # … and from the end of a log
TERMINATION_LOG_LINES: Final = 80
PROBE_ANSWER_BYTES: Final = 10 * 1024  # read of the answer to a probe
PROBE_TEXT_CHARACTERS: Final = 240  # of a failed probe, in an event

# --- actors of the control plane ------------------------------------------------------------
ACTOR_WORKERS: Final = 4  # attempts at once of each actor
ACTOR_RETRY_FIRST_SECONDS: Final = 0.01  # as the queues of kube-controller-manager
ACTOR_RETRY_MAXIMUM_SECONDS: Final = 60.0
ACTOR_BURST_OBJECTS: Final = 500  # created or deleted in one attempt
ACTOR_PARALLEL_WRITES: Final = 16  # of one batch
ACTOR_DECODED_OBJECTS: Final = 10_000  # kept decoded between two attempts
ACTOR_KINDS: Final = 1000  # that the garbage collector and the namespace actor follow
ACTOR_DISCOVERY_SECONDS: Final = 30.0  # between two looks at what kinds there are, if nothing told
ACTOR_NAMESPACE_CHECK_SECONDS: Final = 1.0  # between two looks at what a namespace still holds
ACTOR_NAMESPACE_DELAY_SECONDS: Final = 0.2  # after the last change, for creations under way
AUTOSCALER_SECONDS: Final = 15.0  # horizontal-pod-autoscaler-sync-period
QUOTA_DELAY_SECONDS: Final = 0.1  # changes that come together are counted once
SCHEDULER_RETRY_MAXIMUM_SECONDS: Final = 10.0  # as kube-scheduler's podMaxBackoffDuration
SLICE_ENDPOINTS: Final = 100  # of one EndpointSlice, the controller's default
ENDPOINTS_ADDRESSES: Final = 1000  # of one Endpoints object; more are cut and that is annotated
JOB_INDEXES: Final = 100_000  # of one range of completed indexes, the server's limit
CRON_SEARCH_DAYS: Final = 366 * 5  # for the next time that a schedule names
NODE_GRACE_SECONDS: Final = 50.0  # node-monitor-grace-period: without a sign of life so long
NODE_MONITOR_SECONDS: Final = 5.0  # node-monitor-period
NODE_QUARANTINE_SECONDS: Final = 40.0  # for pods of a node that was never seen, as the real one

# --- the rig --------------------------------------------------------------------------------
RIG_START_SECONDS: Final = 90.0
RIG_STOP_SECONDS: Final = 15.0
RIG_POLL_SECONDS: Final = 0.02  # between two looks at a program that starts or stops
RIG_LOG_LINES: Final = 15  # of a program that ended, shown in the error
RIG_BUILD_SECONDS: Final = 3600.0  # one program; kube-apiserver takes five minutes on two cores
RIG_BUILD_WAIT_SECONDS: Final = 2 * 3600.0  # for another builder of the same programs
RIG_AUDIT_MEGABYTES: Final = 1024  # then the audit log is cut; ~1 kB a request
RIG_STALE_SECONDS: Final = 60.0  # a data folder without an owner is removed after this age

# --- the embedded API -----------------------------------------------------------------------
EMBEDDED_HISTORY: Final = 20_000  # changes kept for watches and old lists
EMBEDDED_WATCHES: Final = 2_000  # open at once
EMBEDDED_BODY_BYTES: Final = 3 * 1024 * 1024  # kube-apiserver's limit of a request
EMBEDDED_OBJECT_BYTES: Final = 1_572_864  # etcd's limit of a request: 1.5 MiB
EMBEDDED_MESSAGE_BYTES: Final = 2 * 1024 * 1024  # above it etcd's client refuses to send
EMBEDDED_PATCH_OPERATIONS: Final = 10_000  # of a JSON patch
EMBEDDED_PATCH_COPY_BYTES: Final = 3 * 1024 * 1024  # by all its copy operations together
EMBEDDED_JSON_DEPTH: Final = 128  # of bodies and patches; a schema 50 levels deep has 100
EMBEDDED_PATTERNS: Final = 4096  # regular expressions kept ready
EMBEDDED_RULES: Final = 4096  # CEL rules kept parsed
EMBEDDED_RULE_COST: Final = 1_000_000  # of evaluating one rule, in CEL's units (kube-apiserver)
EMBEDDED_RULES_COST: Final = 10_000_000  # of all rules for one object (kube-apiserver)
EMBEDDED_RULE_ESTIMATE: Final = 10_000_000  # of one rule in the worst case (kube-apiserver)
EMBEDDED_RULES_ESTIMATE: Final = 100_000_000  # of all rules of a CRD (kube-apiserver)
EMBEDDED_RULE_CHARACTERS: Final = 16_384  # of one CEL rule
EMBEDDED_UPDATE_MANAGERS: Final = 10  # entries of managedFields; older ones become one
EMBEDDED_STRUCTURES: Final = 1024  # schemas whose merge structure is remembered
EMBEDDED_AHEAD_SECONDS: Final = 3.0  # a read of a resourceVersion to come waits so long
EMBEDDED_BOOKMARK_SECONDS: Final = 60.0  # between two bookmarks of a watch
EMBEDDED_BOOKMARK_EARLY_SECONDS: Final = 2.0  # and one so long before its end
EMBEDDED_WATCH_SECONDS: Final = 1800.0  # a watch without timeoutSeconds: this to twice this
EMBEDDED_GZIP_BYTES: Final = 128 * 1024  # answers from here on are compressed if accepted
EMBEDDED_NAME_TRIES: Final = 8  # for a free name of generateName
EMBEDDED_PATCH_TRIES: Final = 5  # of a patch whose admission changed the object under it
EMBEDDED_FIELD_MANAGER_BYTES: Final = 128
EMBEDDED_ANNOTATIONS_BYTES: Final = 256 * 1024
EMBEDDED_QUERY_BYTES: Final = 256 * 1024  # of a URL

# --- the command line -----------------------------------------------------------------------
TREE_DEPTH: Final = 12  # levels of ownership that `konstat status` shows; real ones stay under six
TREE_SIBLINGS: Final = 10  # ready children of one kind that are drawn; those in trouble all are
TREE_REDRAW_SECONDS: Final = 0.5  # between two drawings of `konstat status --watch`
TREE_AGES_SECONDS: Final = 10.0  # how often it redraws for the ages alone
TREE_FAILING_SECONDS: Final = 5.0  # a kind of children that only fails is waited for so long
TREE_LOOK_SECONDS: Final = 0.05  # between two looks at whether all kinds were read
TREE_REREAD_SECONDS: Final = 30.0  # how often it lists the kinds that it does not watch
EXPLAIN_BYTES: Final = 64 * 1024 * 1024  # of one file that `konstat explain` reads
EXPLAIN_OBJECTS: Final = 50_000  # of all its files
EXPLAIN_LISTS: Final = 8  # lists within lists of objects
EXPLAIN_CAUSES: Final = 10  # different ones below one object; the rest is counted
RULE_FILES: Final = 100  # that `--rules` names; one file holds the kinds of a whole API group
WAIT_LOOK_SECONDS: Final = 0.1  # between two looks of `konstat wait` at a world that changes
WAIT_READ_SECONDS: Final = 30.0  # for the first look, when no time is to be waited at all
WAIT_FOREVER_SECONDS: Final = 7 * 24 * 3600.0  # what kubectl makes of a negative timeout
WAIT_NAMES: Final = 20  # objects that are told one by one; the rest is counted
DEMO_STEP_SECONDS: Final = 60.0  # for one step of `konstat demo` to come out as told
DEMO_LOOK_SECONDS: Final = 0.05  # between two looks at whether it has
DEV_LOOK_SECONDS: Final = 0.3  # between two looks of `konstat dev` at its files
DEV_FILES: Final = 2000  # that are looked at; more are refused
DEV_STOP_SECONDS: Final = 15.0  # for an operator to end by itself; then it is killed

assert STATUS_BYTES < 1024 * 1024
assert MESSAGE_CHARACTERS <= 32768
assert RETRY_FIRST_SECONDS < RETRY_MAXIMUM_SECONDS
assert WATCH_BACKOFF_FIRST_SECONDS < WATCH_BACKOFF_MAXIMUM_SECONDS
assert REQUEST_CONNECTIONS >= CONCURRENT_ATTEMPTS
assert STOP_GRACE_SECONDS + ATTEMPT_END_SECONDS * ATTEMPT_CANCELLATIONS < 30.0
assert NODE_RENEW_SECONDS * 2 < NODE_LEASE_SECONDS
