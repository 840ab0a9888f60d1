"""Nodes and their kubelets, played through the public API of any control plane.

`konstat.nodes.actor.NodeActor` is the front door. Pure parts, in the order in which a pod meets
them: `podspec` (what is read of a pod), `configuration` (ConfigMaps and Secrets it needs),
`runtime` and `pretended` (what plays a container), `script` (annotations that make it fail),
`memory`, `kubelet` (one step of one pod), `podstatus` (how it is written down), `patch`. Parts
that talk to the server: `heartbeat` (a node and its lease), `pods` (the pods of all our nodes).
`processes` is the runtime that runs containers as local processes (`acting` is what it offers).

Nothing here knows a controller or a test; it needs no right beyond those of a kubelet.
"""

from konstat.nodes.acting import LogQuery
from konstat.nodes.actor import NodeActor, NodeOptions
from konstat.nodes.memory import Pace
from konstat.nodes.pretended import PretendedRuntime
from konstat.nodes.processes import ProcessCommand, ProcessRuntime
from konstat.nodes.runtime import ContainerRuntime

__all__ = [
    "ContainerRuntime",
    "LogQuery",
    "NodeActor",
    "NodeOptions",
    "Pace",
    "PretendedRuntime",
    "ProcessCommand",
    "ProcessRuntime",
]
