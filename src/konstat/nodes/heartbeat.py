"""`PlayedNode`: one node that registers, keeps its Lease and says that it is ready.

As a kubelet: the Lease is renewed every ten seconds; the status is written when it is not as it
should be (a controller has marked the node, say) and every five minutes in any case. A node that
somebody deletes is not registered again.

Two actors must not play one node, for each would undo what the other writes. So the Lease carries
the instance that plays (`konstat.nodes.claim`): a later actor waits until it is free, and fails
when it is renewed meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from konstat.base import clock, limits
from konstat.base.backoff import Backoff
from konstat.base.waiting import wait_at_most
from konstat.client.api import Client
from konstat.errors import (
    AlreadyExists,
    APIError,
    Conflict,
    NotFound,
    PatchRefused,
    TransportError,
    UserError,
)
from konstat.kinds import Lease, Node
from konstat.nodes import node
from konstat.nodes.claim import Held, held_by_another, holder_of
from konstat.nodes.node import ACTOR_LABEL, INSTANCE, LEASE_NAMESPACE, NodeShape
from konstat.nodes.patch import status_patch

log = logging.getLogger("konstat.nodes")

_BACKOFF: Final = Backoff(
    first_seconds=limits.NODE_RETRY_FIRST_SECONDS,
    maximum_seconds=limits.NODE_RETRY_MAXIMUM_SECONDS,
)
_INSTANCE_PATH: Final = "/metadata/annotations/" + INSTANCE.replace("~", "~0").replace("/", "~1")


class _StillHeld(Exception):
    """Another actor's Lease has not run out yet: look again."""


class PlayedNode:
    """One node of a `konstat.nodes.NodeActor`.

    ``instance`` names the actor; ``runtime_name`` is what the node reports as its runtime.
    """

    def __init__(
        self, client: Client, shape: NodeShape, *, instance: str, runtime_name: str
    ) -> None:
        self.shape = shape
        self.uid = ""
        self.registered = asyncio.Event()
        self._client = client
        self._instance = instance
        self._runtime_name = runtime_name
        self._status: Mapping[str, Any] = {}
        self._failed = False
        self._gone = False
        self._changed = asyncio.Event()
        self._reported_at = 0.0
        self._held: Held | None = None

    @property
    def name(self) -> str:
        return self.shape.name

    @property
    def playing(self) -> bool:
        """Whether the kubelet of this node is at work."""
        return self.registered.is_set() and not self._failed and not self._gone

    def fail(self) -> None:
        """Fall silent as a machine that lost its network."""
        self._failed = True

    def recover(self) -> None:
        """Be back after `fail`."""
        self._failed = False
        self._changed.set()

    async def run(self, *, kubelet_version: str) -> None:
        """Register and keep the node alive; returns when somebody deletes the Node.

        Raises UserError when the name is taken by a node that is not played, or by another actor
        that lives; one that was killed holds it until its Lease runs out, which is waited for.
        """
        self._status = node.node_status(
            self.shape, kubelet_version=kubelet_version, runtime_name=self._runtime_name
        )
        while not await self._done(self._register):
            await self._changed.wait()
            self._changed.clear()
        self.registered.set()
        while not self._gone:
            await wait_at_most(self._changed, timeout_seconds=limits.NODE_RENEW_SECONDS)
            self._changed.clear()
            if not self._failed:
                await self._done(self._beat)

    async def remove(self) -> None:
        """Delete the Node and the Lease, if they are still ours."""
        if not self.uid or self._gone:
            return
        try:
            if await self._holder() != self._instance:
                return
            await self._client.delete(Node, self.name, uid=self.uid)
            await self._client.delete(Lease, self.name, namespace=LEASE_NAMESPACE)
        except (NotFound, Conflict) as error:
            log.debug("node %s needs no removal: %s", self.name, error)

    async def release(self) -> None:
        """Leave the Node behind for the next actor, which then need not wait."""
        if not self.uid or self._gone:
            return
        operations = [
            {"op": "test", "path": _INSTANCE_PATH, "value": self._instance},
            {"op": "remove", "path": _INSTANCE_PATH},
        ]
        try:
            await self._client.patch(
                Lease.kind, self.name, operations, type="json", namespace=LEASE_NAMESPACE
            )
        except (NotFound, PatchRefused) as error:
            log.debug("node %s needs no release: %s", self.name, error)

    # --- parts --------------------------------------------------------------------------------

    async def _done(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Try until it is done, be it refused or unanswered; False when the node fails first."""
        tries = 0
        while not self._failed:
            try:
                await work()
                return True
            except _StillHeld:
                await clock.sleep(_BACKOFF.delay_seconds(tries))
                tries += 1
            except (APIError, TransportError) as error:
                log.warning("node %s: %s", self.name, error)
                await clock.sleep(_BACKOFF.delay_seconds(tries))
                tries += 1
        return False

    async def _register(self) -> None:
        try:
            stored = await self._client.create(Node.kind, node.node_content(self.shape))
        except AlreadyExists:
            stored = await self._client.get(Node.kind, self.name)
            if (stored["metadata"].get("labels") or {}).get(ACTOR_LABEL) != "true":
                raise UserError(
                    f"node {self.name} exists and is not a played one: choose another name prefix"
                ) from None
        self.uid = stored["metadata"]["uid"]
        await self._take_lease()
        await self._report(stored, heartbeat=True)

    async def _beat(self) -> None:
        await self._renew()
        try:
            stored = await self._client.get(Node.kind, self.name)
        except NotFound:
            stored = None
        if stored is None or stored["metadata"]["uid"] != self.uid:
            log.warning("node %s was deleted: it is not played any more", self.name)
            self._gone = True
            return
        due = clock.monotonic() - self._reported_at >= limits.NODE_STATUS_SECONDS
        await self._report(stored, heartbeat=due)

    async def _report(self, stored: Mapping[str, Any], *, heartbeat: bool) -> None:
        operations = status_patch(
            stored.get("status"), self._status, uid=self.uid, now=clock.now(), heartbeat=heartbeat
        )
        if not operations:
            return
        # Refused when somebody wrote since we read: then all of it is tried again.
        await self._client.patch(
            Node.kind, self.name, operations, type="json", subresource="status"
        )
        if heartbeat:
            self._reported_at = clock.monotonic()

    async def _take_lease(self) -> None:
        content = node.lease_content(
            self.shape, node_uid=self.uid, instance=self._instance, now=clock.now()
        )
        try:
            await self._client.create(Lease.kind, content)
        except AlreadyExists:
            # Of an earlier actor, or of a Node that was deleted a moment ago.
            lease = await self._client.get(Lease, self.name, namespace=LEASE_NAMESPACE)
            self._require_free(lease)
            # With the version, so that of two actors that find it free one gets it.
            content["metadata"]["resourceVersion"] = lease.metadata.resource_version
            await self._client.patch(
                Lease.kind,
                self.name,
                {"metadata": content["metadata"], "spec": content["spec"]},
                type="merge",
                namespace=LEASE_NAMESPACE,
            )

    def _require_free(self, lease: Lease) -> None:
        """Raise _StillHeld while another actor may be alive, UserError when it is."""
        before, monotonic = self._held, clock.monotonic()
        held = self._held = held_by_another(
            lease,
            instance=self._instance,
            node_uid=self.uid,
            seen=before,
            now=clock.now(),
            monotonic=monotonic,
        )
        if held is None:
            return
        if before is None:
            log.warning(
                "node %s was played by another node actor (%s) %.0f s ago: if it is not renewed"
                " within %.0f s, it is taken over",
                self.name,
                held.instance,
                held.age_seconds,
                held.until - monotonic,
            )
        elif held is not before:
            raise self._taken(held.instance)
        raise _StillHeld

    async def _renew(self) -> None:
        moment = clock.micro_timestamp(clock.now())
        operations = [
            {"op": "test", "path": _INSTANCE_PATH, "value": self._instance},
            {"op": "add", "path": "/spec/renewTime", "value": moment},
        ]
        try:
            await self._client.patch(
                Lease.kind, self.name, operations, type="json", namespace=LEASE_NAMESPACE
            )
        except NotFound:
            await self._take_lease()
        except PatchRefused as error:
            holder = await self._holder()
            if holder == self._instance:
                raise
            raise self._taken(holder) from error

    def _taken(self, holder: str) -> UserError:
        return UserError(
            f"another node actor ({holder or 'without a name'}) plays node {self.name}: end it,"
            " or give this one a name prefix of its own (--name-prefix)"
        )

    async def _holder(self) -> str:
        """The instance that plays the node, as its Lease says."""
        lease = await self._client.get(Lease, self.name, namespace=LEASE_NAMESPACE)
        return holder_of(lease)
