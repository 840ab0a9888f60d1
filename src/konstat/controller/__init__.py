"""Controllers, contexts, workers and the manager: what turns a declaration into a process.

Reading order: `controller` (the declaration), `context` (what an attempt may use), `triggers`
(what wakes it), `worker` (take, attempt, settle, write), `manager` and `run` (the process).
"""

from konstat.controller.context import Context
from konstat.controller.controller import Controller, Watch
from konstat.controller.manager import HealthAddress, Manager
from konstat.controller.run import install, run, run_manager

__all__ = [
    "Context",
    "Controller",
    "HealthAddress",
    "Manager",
    "Watch",
    "install",
    "run",
    "run_manager",
]
