"""What good news is worth where no summary decides: a first step, a part, or the whole.

`Ready=True` sums an object up. Many kinds have nothing of the sort and write ``Synced``, ``Valid``
or ``ResourcesApplied``, a flag ``attached`` or a word ``syncStatus``. `generic` believes these when
nothing speaks against the object and they tell of the whole; ``Accepted``, ``Scheduled`` or
``Initialized`` only tell that somebody has begun.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from konstat.base import limits
from konstat.readiness import vocabulary as v
from konstat.readiness.vocabulary import word_set
from konstat.readiness.words import split

NEUTRAL: Final = -1  # no objection, and no news
STEP: Final = 0  # begun: more is to come
PART: Final = 1  # a part works; two of them, without a mere step, are believed
OUTPUT: Final = 2  # what the object is for was made; believed without a mere step beside it
WHOLE: Final = 3  # the whole object is as wanted

# One word that says of the whole object that it is as wanted.
_WHOLE: Final = word_set(
    """
    synced synchronized synchronised resourcesynced valid provisioned active updated uptodate
    running connected attached enforced satisfied compliant published issued signed stored
    uploaded exposed deployed reconciled bound healthy formed working
    promoted serving propagated
    """
)
_OUTPUTS: Final = word_set(
    """
    synced synchronized synchronised provided applied published programmed uptodate reconciled
    propagated deployed delivered enforced formed
    """
)
_PARTS: Final = word_set(
    """
    ready available healthy succeeded complete completed established operational online bound
    serving running provisioned attached updated reachable up ok functional generated passed
    built connected loaded populated working live
    """
)
# Parts of a type or a key that name the object itself, and not a part of it.
_OWN: Final = word_set(
    """
    resource resources manifest manifests object objects all fully every well everything overall
    full entire total ack sync reconcile reconciliation apply operator
    """
)
# Types that are named after the part which they tell of.
_THINGS: Final = frozenset(("Deployment", "StatefulSet", "DaemonSet", "Service"))
# What is looked at before the work begins.
_BEFORE: Final = word_set(
    """
    validation preflight preliminary check checks precheck prechecks prerequisite prerequisites
    dependency dependencies requirement requirements spec request quota admission permission
    permissions credentials bootstrap
    """
)


# What is made ready for the object, and not by it.
_INPUTS: Final = word_set(
    """
    config configuration crd crds image images namespace rbac certificate certificates network
    address addresses template finalizer labels
    """
)


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def of_type(name: str, kind: str) -> int:
    """What a condition of type ``name`` is worth while it is as it should be."""
    words = split(name.rpartition("/")[2])
    if not words:
        return NEUTRAL
    if name in _THINGS:
        return PART
    last, before = words[-1], words[:-1]
    if not _names_own(before, kind):
        if not _BEFORE.isdisjoint(before):
            return STEP
        if last in _OUTPUTS:
            return OUTPUT if _INPUTS.isdisjoint(before) else PART
        return PART if last in _PARTS else STEP
    whole = last in _WHOLE or (before and (last in _PARTS or last in _OUTPUTS))
    return WHOLE if whole else STEP


def _names_own(words: Sequence[str], kind: str) -> bool:
    if words[:1] in (("all",), ("every",)):
        return True
    own = split(kind)
    return all(word in _OWN or word in own or f"{word}s" in own for word in words)


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def of_flag(key: str, kind: str) -> int:
    """What a boolean under ``key`` is worth while it is true."""
    words = split(key)
    if words[:1] == ("is",):
        words = words[1:]
    if not words or words[-1] not in _WHOLE:
        return PART if words and len(words) > 1 and words[-1] in _PARTS else STEP
    return WHOLE if _names_own(words[:-1], kind) else PART


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def of_key(key: str, kind: str) -> int:
    """What a good word under a key such as ``syncStatus`` or ``nodeState`` is worth."""
    return WHOLE if _names_own(split(key)[:-1], kind) else PART


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def of_phase(word: str) -> int:
    """What a phase that is a good word, but none that decides, is worth."""
    words = split(word)
    good = words and all(w in _WHOLE or w in v.FILLERS or w in v.DECIDING for w in words)
    return WHOLE if good and "provisioned" not in words and "loaded" not in words else STEP


def convince(worths: Iterable[int]) -> bool:
    """Whether good news of these worths, and no bad news, means that the object is ready."""
    found = list(worths)
    if WHOLE in found:
        return True
    return STEP not in found and (OUTPUT in found or found.count(PART) > 1)
