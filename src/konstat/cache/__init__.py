"""The cache: what the server has, kept near, and never said to be what it is not.

The way of an object: `watcher` asks and hears → `reflector` → `store`, overlaid by our own
writes → `informer` says whether the store can be believed → `informers` share it.
"""

from konstat.cache.informer import Informer, InformerStatistics, Readable
from konstat.cache.informers import Informers
from konstat.cache.store import Change, OnChange, Store, StoreStatistics
from konstat.cache.watcher import WatcherStatistics

__all__ = [
    "Change",
    "Informer",
    "InformerStatistics",
    "Informers",
    "OnChange",
    "Readable",
    "Store",
    "StoreStatistics",
    "WatcherStatistics",
]
