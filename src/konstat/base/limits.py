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

# --- credentials ----------------------------------------------------------------------------
EXEC_PLUGIN_TIMEOUT_SECONDS: Final = 30.0
EXEC_PLUGIN_OUTPUT_BYTES: Final = 1024 * 1024
TOKEN_FILE_REREAD_SECONDS: Final = 60.0  # as client-go; kubelet rotates at 80 % of life

# --- list and watch -------------------------------------------------------------------------
LIST_PAGE_OBJECTS: Final = 500  # client-go's page size
WATCH_TIMEOUT_SECONDS: Final = 300  # asked of the server: what bounds silence
WATCH_GRACE_SECONDS: Final = 30.0  # past the server's own timeout before we call a stream dead
WATCH_FRUITLESS_RESUMES: Final = 5  # streams that end at once without news, then a fresh list
WATCH_BACKOFF_FIRST_SECONDS: Final = 0.5
WATCH_BACKOFF_MAXIMUM_SECONDS: Final = 30.0
UNAVAILABLE_RETRY_SECONDS: Final = 30.0  # how often a forbidden or absent kind is tried again
DECODE_SLICE_OBJECTS: Final = 50  # decoded between two turns of the event loop

# --- queue and attempts ---------------------------------------------------------------------
CONCURRENT_ATTEMPTS: Final = 8
RETRY_FIRST_SECONDS: Final = 0.5
RETRY_MAXIMUM_SECONDS: Final = 300.0
ATTEMPTS_PER_SECOND: Final = 200.0  # over all keys of a controller
ATTEMPTS_BURST: Final = 400
RESYNC_SECONDS: Final = 3600.0 * 10  # controller-runtime's default; level-triggering needs no more
ATTEMPT_TIMEOUT_SECONDS: Final = 300.0
RESET_AFTER_SECONDS: Final = 1.0  # promise 1: an unsettled attempt on a new generation says so
STOP_GRACE_SECONDS: Final = 20.0  # under a pod's 30 s
READS_LIVE_PER_ATTEMPT: Final = 200
LOOP_BLOCKED_SECONDS: Final = 1.0  # a reconcile that blocks the loop this long is reported

# --- status ---------------------------------------------------------------------------------
STATUS_BYTES: Final = 32 * 1024  # soft budget; etcd's limit is 1.5 MiB
CONDITIONS: Final = 32  # Cluster API's maxItems
MESSAGE_CHARACTERS: Final = 1024  # the API allows 32768; people read a line or two
REASON_CHARACTERS: Final = 1024  # metav1.Condition
CONDITION_TYPE_CHARACTERS: Final = 316  # metav1.Condition
MESSAGE_CAUSES: Final = 3
MESSAGE_NAMES: Final = 3
STATUS_WRITE_TRIES: Final = 5
FINALIZER_WRITE_TRIES: Final = 5
REVERTS: Final = 2  # a field undone this often by the server is reported, not fought for
CONTESTED_CORRECTIONS: Final = 10  # by a rival writer, within …
CONTESTED_WINDOW_SECONDS: Final = 60.0

# --- events and metrics ---------------------------------------------------------------------
EVENT_QUEUE: Final = 1000
EVENT_MESSAGE_CHARACTERS: Final = 1024  # events.k8s.io note
EVENT_SERIES_SECONDS: Final = 360.0  # the series window of client-go's recorder
EVENT_SERIES_KEYS: Final = 4096

# --- nodes ----------------------------------------------------------------------------------
NODE_LEASE_SECONDS: Final = 40
NODE_RENEW_SECONDS: Final = 10.0
PODS_PER_NODE: Final = 110

# --- the rig --------------------------------------------------------------------------------
RIG_START_SECONDS: Final = 90.0
RIG_STOP_SECONDS: Final = 15.0

assert STATUS_BYTES < 1024 * 1024
assert MESSAGE_CHARACTERS <= 32768
assert RETRY_FIRST_SECONDS < RETRY_MAXIMUM_SECONDS
assert WATCH_BACKOFF_FIRST_SECONDS < WATCH_BACKOFF_MAXIMUM_SECONDS
assert REQUEST_CONNECTIONS >= CONCURRENT_ATTEMPTS
assert NODE_RENEW_SECONDS * 2 < NODE_LEASE_SECONDS
