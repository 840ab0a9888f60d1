"""Local processes as containers: a runtime of the node actor that really runs what is mapped.

`ProcessRuntime` is the front door. In the order in which a container meets them: `mapping` (which
command), `plan` with `expansion`, `fields` and `volumes` (its variables and files), `life` (a run)
with `probing`, `prober` and `logs`, `spawn` and its script `keeper` (a program and all that it
starts). `network` says where pods can listen, `unplayed` what they do not get.
"""

from konstat.nodes.processes.mapping import (
    ProcessCommand,
    ProcessMap,
    load_processes,
    parse_process,
)
from konstat.nodes.processes.runtime import ProcessRuntime

__all__ = ["ProcessCommand", "ProcessMap", "ProcessRuntime", "load_processes", "parse_process"]
