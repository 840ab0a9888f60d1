"""Actors that play kube-controller-manager and kube-scheduler through the public API.

`konstat.actors.plane.ControlPlaneActors` runs them all; each also runs alone over a
`konstat.actors.world.World`. Each actor is a loop (`actor`) around pure decisions, which are in a
module of their own: `rollout` and `deployment_status`, `replicaset_plan`, `statefulset_plan`,
`daemonset_plan`, `job_plan`, `schedule`, `placement` and `neighbours`, `slice_plan`, `ownership`,
`namespace_plan`, `node_plan`, `volume_plan`.

Nodes are not played here (see `konstat.nodes`). What the real programs do and these do not is
told where it is met: in the docstring of the actor, and to users by an event with reason
``NotPlayed`` or a condition.
"""

from konstat.actors.actor import Actor
from konstat.actors.plane import ACTORS, ActorOptions, ControlPlaneActors
from konstat.actors.world import World

__all__ = ["ACTORS", "Actor", "ActorOptions", "ControlPlaneActors", "World"]
