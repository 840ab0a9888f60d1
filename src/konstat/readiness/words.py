"""What a reason, a phase or a message of somebody else's controller means, by its words.

Texts such as ``InstallFailed``, ``waiting-for-dns`` or ``Cluster in healthy state`` are split
into words and looked up in `vocabulary`. An explicit word of failure wins over one of progress,
unless the text begins with waiting: "WaitingForFailedPod" waits, "InstallFailedRetrying" failed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Final

from konstat.base import limits
from konstat.readiness import vocabulary as v
from konstat.readiness.vocabulary import word_set

_SPLIT: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Single words of which camel case makes two.
_JOINED: Final = {
    ("time", "out"): "timeout", ("timed", "out"): "timeout", ("back", "off"): "backoff",
    ("rolled", "back"): "rolledback", ("in", "progress"): "inprogress",
    ("up", "to"): "upto", ("upto", "date"): "uptodate", ("in", "sync"): "insync",
    ("out", "of"): "outof", ("outof", "sync"): "outofsync", ("outof", "date"): "outofdate",
    ("shut", "down"): "shutdown", ("shut", "off"): "shutoff", ("powered", "off"): "poweredoff",
    ("fail", "over"): "failover", ("failed", "over"): "failedover",
    ("failing", "over"): "failover", ("switching", "over"): "switchover", ("o", "om"): "oom",
    ("on", "hold"): "onhold", ("can", "not"): "cannot", ("can", "t"): "cant",
    ("storage", "full"): "storagefull", ("disk", "full"): "diskfull",
    ("split", "brain"): "splitbrain", ("rolling", "back"): "rollingback",
    ("rollback", "complete"): "rolledback", ("roll", "back"): "rollback",
    ("start", "up"): "startup", ("scale", "down"): "scaledown",
    ("shutting", "down"): "terminating", ("scaled", "down"): "scaledown",
    ("scaling", "down"): "scalingdown", ("scaling", "up"): "scalingup",
    ("tear", "down"): "teardown", ("tearing", "down"): "terminating",
    ("spin", "down"): "scaledown", ("spinning", "down"): "scalingdown",
    ("powering", "down"): "poweringdown", ("cooling", "down"): "cooldown",
    ("winding", "down"): "scalingdown", ("slow", "down"): "slowdown",
    ("cool", "down"): "cooldown", ("count", "down"): "countdown", ("spin", "up"): "startup",
    ("setting", "up"): "startup", ("clean", "up"): "cleanup", ("set", "up"): "setup",
    ("catching", "up"): "catchup",
    ("backed", "up"): "backedup", ("scaled", "up"): "scaledup", ("scale", "up"): "scaleup",
    ("dead", "line"): "deadline", ("dead", "letter"): "deadletter", ("fail", "safe"): "failsafe",
    ("error", "free"): "errorfree", ("id", "le"): "idle", ("o", "k"): "ok",
}  # fmt: skip


class Sense(IntEnum):
    """What a text means for the object that carries it."""

    NOTHING = 0
    GOOD = 1  # a good word, which decides nothing alone
    READY = 2
    RUNNING = 3  # Ready, except for bounded work
    COMPLETED = 4
    EARLY = 10  # a first step: work under way for bounded work, else a good word
    SUSPENDED = 5
    UNKNOWN = 6
    PROGRESS = 7
    TERMINATING = 8
    FAILED = 9


def split(text: str) -> tuple[str, ...]:
    """The words of a camel, kebab, snake or plain text in lower case; compounds made one."""
    # Cut before it is remembered, here and below: what others write may be a whole log.
    return _split(text[: limits.READINESS_WORD_CHARACTERS])


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def _split(text: str) -> tuple[str, ...]:
    words: list[str] = []
    for found in _SPLIT.findall(text):
        word = found.lower()
        while words and (joined := _JOINED.get((words[-1], word))) is not None:
            words.pop()
            word = joined
        words.append(word)
    return tuple(words)


def is_progress(word: str) -> bool:
    """Whether a word says that something is on its way; unknown words in "-ing" do."""
    if word in v.PROGRESS:
        return True
    return len(word) > 5 and word.endswith("ing") and word not in v.NOT_PROGRESS


def of_reason(reason: str) -> Sense:
    """What the reason of a condition that is not as it should be means.

    FAILED, PROGRESS, SUSPENDED, TERMINATING, UNKNOWN, GOOD (a good word only) or NOTHING.
    """
    return _weigh(split(reason))


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def _weigh(words: Sequence[str]) -> Sense:
    if not words:
        return Sense.NOTHING
    senses = _senses(words)
    if words[0] in _WAITS:
        # "WaitingForFailedPod" waits, "ProvisioningFailed" has failed.
        return Sense.PROGRESS
    if len(words) > 1 and not _OTHERS.isdisjoint(words) and Sense.SUSPENDED in senses:
        senses = [Sense.NOTHING if s is Sense.SUSPENDED else s for s in senses]
    if Sense.TERMINATING in senses and len(words) > 1:
        # "SecretDeleted" tells of something else's end.
        senses = [Sense.PROGRESS if s is Sense.TERMINATING else s for s in senses]
    if Sense.FAILED not in senses and senses[0] is Sense.PROGRESS:
        # "ProcessingCompleted" is over.
        over = words[0].endswith("ing") and words[-1] in v.COMPLETED and senses[-1] is Sense.GOOD
        return Sense.GOOD if over else Sense.PROGRESS
    for sense in _REASON_ORDER:
        if sense in senses:
            return sense
    return Sense.NOTHING


_OTHERS: Final = word_set("stopped inactive")  # said of something else, where it is named
_WAITS: Final = word_set("waiting wait waits await awaits awaiting pending")
_REASON_ORDER: Final = (
    Sense.FAILED, Sense.TERMINATING, Sense.SUSPENDED, Sense.PROGRESS, Sense.UNKNOWN, Sense.GOOD,
)  # fmt: skip


def _senses(words: Sequence[str]) -> list[Sense]:
    """The sense of each word, negations taken together with what they deny."""
    senses: list[Sense] = []
    skip = False
    for index, word in enumerate(words):
        if skip:
            skip = False
            continue
        if word in v.NEGATION and index + 1 < len(words):
            denied = words[index + 1]
            sense = _denied(word, denied, words[index + 2 :])
            skip = sense is not Sense.NOTHING or denied in v.FAILURE
            senses.append(sense)
        else:
            senses.append(_sense(word))
    return senses


def _denied(negation: str, word: str, following: Sequence[str]) -> Sense:
    if word in v.FAILURE:
        return Sense.GOOD
    if word in v.NOT_FAILED:
        return Sense.FAILED
    if word == "enabled":
        return Sense.SUSPENDED
    if negation == "non" and word in v.GOOD:
        return Sense.FAILED
    if word in v.NOT_YET:
        return Sense.PROGRESS
    if negation == "not" and word in v.GOOD:
        return Sense.FAILED
    at_work = word in v.PROGRESS if negation == "no" else is_progress(word)
    if at_work or word in v.SUSPENDED or word in v.TERMINATING:
        return Sense.GOOD
    if negation == "no":
        # NoMatchingParent lacks something; NoReadyPods, NoPodsReady and NoPods are not there yet.
        if not following and word in _STARTED:
            return Sense.PROGRESS
        return Sense.PROGRESS if any(w in v.NOT_YET for w in (word, *following)) else Sense.FAILED
    return Sense.NOTHING


# What there is none of at first.
_STARTED: Final = word_set("replicas replica pods pod deployments deployment instances endpoints")


def _sense(word: str) -> Sense:
    if word in v.FAILURE:
        return Sense.FAILED
    if word in v.TERMINATING:
        return Sense.TERMINATING
    if word in v.SUSPENDED:
        return Sense.SUSPENDED
    if is_progress(word):
        return Sense.PROGRESS
    if word in v.UNKNOWN:
        return Sense.UNKNOWN
    return Sense.GOOD if word in v.GOOD else Sense.NOTHING


_WORST_FIRST: Final = (
    Sense.FAILED, Sense.TERMINATING, Sense.PROGRESS, Sense.SUSPENDED, Sense.UNKNOWN,
)  # fmt: skip


def of_phase(text: str) -> Sense:
    """What a phase, a state or a health word means.

    READY, RUNNING and COMPLETED only where every word of the text is known; a good word among
    unknown ones is GOOD, which decides nothing.
    """
    return Sense.NOTHING if len(text) > limits.READINESS_WORD_CHARACTERS else _of_phase(text)


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def _of_phase(text: str) -> Sense:
    words = split(text)
    if not words:
        return Sense.NOTHING
    if len(words) == 1 and words[0] in v.ALONE:
        return Sense[v.ALONE[words[0]]]
    senses = _senses(words)
    if words[0] in _WAITS or ("/" in text and _falls_short(text)):
        return Sense.PROGRESS
    for sense in _WORST_FIRST:
        if sense in senses:
            return sense
    if Sense.GOOD not in senses:
        return Sense.NOTHING
    known = all(w in v.GOOD or w in v.FILLERS or w.isdigit() for w in words)
    if not known:
        return Sense.GOOD
    said = [w for w in words if w in v.GOOD]
    if any(w in v.COMPLETED for w in said):
        return Sense.COMPLETED
    if any(w in v.DECIDING for w in said):
        return Sense.RUNNING if all(w in v.RUNNING for w in said) else Sense.READY
    return Sense.GOOD


def is_not_ready(phase: str) -> bool:
    """Whether a phase says only that the object is not ready, and not why."""
    return split(phase) in (("not", "ready"), ("notready",), ("unready",), ("not", "available"))


def has_ended(phase: str) -> bool:
    """Whether bounded work says by this word that it was done: "Processed", "valid"."""
    words = split(phase)
    return bool(words) and (words[-1] in v.ENDED or words[-1] == "valid")


def at_work(reason: str) -> bool:
    """Whether a reason plainly says that work is under way, by a word of the table."""
    words = split(reason)
    return of_reason(reason) is Sense.PROGRESS and any(word in v.PROGRESS for word in words)


def _falls_short(text: str) -> bool:
    """Whether a text holds numbers such as "2/3" that differ."""
    for part in text.replace("(", " ").replace(")", " ").split():
        numbers = part.split("/")
        if len(numbers) > 1 and all(n.isdecimal() for n in numbers) and len(set(numbers)) > 1:
            return True
    return False


def waits(reason: str) -> bool:
    """Whether a reason begins with waiting, so that what follows is what is waited for."""
    return split(reason)[:1] in _WAITING


_WAITING: Final = frozenset((word,) for word in _WAITS)


def begins_with_failure(message: str) -> bool:
    """Whether a message reports a failure in its first words."""
    return message[:16].lstrip().lower().startswith(v.MESSAGE_STARTS)


def is_left_out(reason: str) -> bool:
    """Whether a reason says that a part was not asked for, which is no rest of the whole."""
    words = split(reason)
    return "disabled" in words or ("not" in words and "enabled" in words)


_MESSAGE_CHARACTERS: Final = 4 * limits.READINESS_WORD_CHARACTERS


def of_message(text: str) -> Sense:
    """FAILED or PROGRESS where a message says so plainly, else NOTHING."""
    return _of_line(text[:_MESSAGE_CHARACTERS])


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def _of_line(line: str) -> Sense:
    line = line.lower()
    first = split(line[:40])[:1]
    if first and is_progress(first[0]):
        return Sense.PROGRESS
    for harmless in v.MESSAGE_HARMLESS:
        line = line.replace(harmless, "")
    failures = [phrase for phrase in v.MESSAGE_FAILURES if phrase in line]
    if failures and not (" until " in line and set(failures) <= set(v.MESSAGE_WAITS)):
        return Sense.FAILED
    if any(phrase in line for phrase in v.MESSAGE_PROGRESS):
        return Sense.PROGRESS
    return Sense.NOTHING


def is_users(text: str) -> bool:
    """Whether a failure's word speaks of what the spec's author wrote or refers to."""
    return _is_users(split(text))


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def _is_users(words: Sequence[str]) -> bool:
    # A lack of capacity is the cluster's, whatever is asked for.
    return "capacity" not in words and any(word in v.USERS for word in words)


def blames_user(message: str) -> bool:
    """Whether a failure's message speaks of the spec, of what it refers to, or of a permission."""
    return _blames_user(message[:_MESSAGE_CHARACTERS])


@lru_cache(maxsize=limits.READINESS_CACHED_WORDS)
def _blames_user(line: str) -> bool:
    line = line.lower()
    return any(phrase in line for phrase in v.MESSAGE_USERS)
