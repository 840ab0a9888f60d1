"""The only HTTP client: configuration, credentials, transport, verbs.

Nothing here caches or decides; `konstat.cache` and `konstat.writing` build on it.
"""

from konstat.client.api import Client
from konstat.client.calls import KindLike, Page
from konstat.client.cluster import ClusterConfig
from konstat.client.config import load_config
from konstat.client.watch import WatchEvent

__all__ = ["Client", "ClusterConfig", "KindLike", "Page", "WatchEvent", "load_config"]
