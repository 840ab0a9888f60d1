"""Writes that change the cluster on behalf of one attempt: apply, status, finalizers.

Nothing here decides *what* should be; that is the author's reconcile and `konstat.status`.
"""

from konstat.writing.apply import Applied, Applier, Note
from konstat.writing.delete import delete_child
from konstat.writing.finalizer import Finalizer, finalizers_of
from konstat.writing.live import read_live
from konstat.writing.manifest import Owner, prepare
from konstat.writing.status_writer import StatusWriter, WriteResult, Written

__all__ = [
    "Applied",
    "Applier",
    "Finalizer",
    "Note",
    "Owner",
    "StatusWriter",
    "WriteResult",
    "Written",
    "delete_child",
    "finalizers_of",
    "prepare",
    "read_live",
]
