"""The keyed work queue: which objects want an attempt, and when.

Before it: `konstat.cache`, whose changes add keys. After it: a controller's workers, which take
a key, make one attempt, and say `WorkQueue.done`.
"""

from konstat.queue.limiter import KeyBackoff, TokenBucket
from konstat.queue.workqueue import QueueStatistics, WorkQueue

__all__ = ["KeyBackoff", "QueueStatistics", "TokenBucket", "WorkQueue"]
