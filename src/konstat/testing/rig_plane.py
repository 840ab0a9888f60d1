"""A real Kubernetes control plane for tests, on this machine, in a few seconds.

`control_plane` starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler on ports of
127.0.0.1, lets the given users in, and stops everything at its end:

    reader = User(name="alice", rules=(Rule(verbs=("get", "list"), resources=("pods",)),))
    async with control_plane(users=[reader]) as plane:
        async with plane.client(user="alice") as client:
            await client.list(Pod)

What runs is ordinary: TLS is verified, RBAC decides, and any Kubernetes client can use the
kubeconfig file. There are no nodes: `konstat.nodes` plays them.

Before: `konstat.testing.rig_binaries` finds the programs. The parts: `rig_commands` (command
lines), `rig_access` (users), `rig_process` (one program), `rig_health` (waits), `rig_audit`.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from typing import Final

from konstat.base import clock, limits
from konstat.client.api import Client
from konstat.client.config import ClusterConfig, load_config
from konstat.errors import AlreadyExists, ControlPlaneError, UserError
from konstat.objects.kind import Kind
from konstat.testing import rig_access, rig_commands
from konstat.testing.rig_access import Access, Identity, User
from konstat.testing.rig_audit import AuditEvent, audit_policy, read_audit_log
from konstat.testing.rig_binaries import Binaries, find_binaries
from konstat.testing.rig_commands import Options
from konstat.testing.rig_folder import claim_folder
from konstat.testing.rig_health import answers, exists, wait_until
from konstat.testing.rig_module import APISERVER, ETCD, KUBECTL
from konstat.testing.rig_ports import HOST, Ports
from konstat.testing.rig_process import Program

NAMESPACE: Final = Kind(
    group="", version="v1", kind="Namespace", plural="namespaces", namespaced=False
)
SERVICE_ACCOUNT: Final = Kind(
    group="", version="v1", kind="ServiceAccount", plural="serviceaccounts"
)


@asynccontextmanager
async def control_plane(
    *,
    controller_manager: bool = True,
    scheduler: bool = True,
    audit: bool = False,
    users: Sequence[User] = (),
    etcd_flags: Sequence[str] = (),
    apiserver_flags: Sequence[str] = (),
    controller_manager_flags: Sequence[str] = (),
    scheduler_flags: Sequence[str] = (),
    data: Path | None = None,
    binaries: Binaries | None = None,
) -> AsyncIterator[ControlPlane]:
    """Run a control plane for the length of a block.

    ``controller_manager`` and ``scheduler``
        False leaves the program out: faster, and nothing acts but the test. Without the
        controller-manager a deleted namespace does not go, and Pods need no ServiceAccount.
    ``audit``
        Have every request logged; read with `ControlPlane.audit_events`.
    ``users``
        Who may come in besides ``admin``, and what RBAC lets them do.
    ``…_flags``
        Added to the command line of a program; they win over the flags that are there.
    ``data``
        A folder to keep: logs and data stay, and a later control plane continues with them.
        Without it a temporary folder is used and removed.
    ``binaries``
        The programs; `find_binaries` looks for them otherwise.

    Raises `konstat.errors.MissingToolError` for a program that is not there and
    `konstat.errors.ControlPlaneError`, with the end of its log, for one that does not run.

    Guarantees: every listener is on 127.0.0.1; no program outlives this Python process, however
    that ends; what is yielded is ready (namespaces and default ServiceAccounts included).
    """
    options = Options(
        controller_manager=controller_manager,
        scheduler=scheduler,
        audit=audit,
        users=tuple(users),
        etcd_flags=tuple(etcd_flags),
        apiserver_flags=tuple(apiserver_flags),
        controller_manager_flags=tuple(controller_manager_flags),
        scheduler_flags=tuple(scheduler_flags),
    )
    plane = ControlPlane(options, data=data, binaries=binaries)
    await plane.start()
    try:
        yield plane
    finally:
        await plane.stop()


class ControlPlane:
    """A control plane; `control_plane` makes one, `start` and `stop` serve callers without a block.

    Bound to no event loop: each method may be awaited on another loop than `start` was.
    """

    def __init__(
        self,
        options: Options | None = None,
        *,
        data: Path | None = None,
        binaries: Binaries | None = None,
    ) -> None:
        self.options = options or Options()
        rig_access.check_names(self.options.users)
        self.binaries = binaries or find_binaries()
        for program in self.options.programs:
            self.binaries.path(program)  # says what lacks, before anything starts
        self._data = data
        self._claims = ExitStack()
        self._programs: dict[str, Program] = {}
        self._identities: dict[str, Identity] = {}
        self._layout: rig_commands.Layout | None = None
        self._ports: Ports | None = None

    # --- what a test needs -------------------------------------------------------------------

    @property
    def folder(self) -> Path:
        """All files of this control plane; the programs' logs are in ``logs/``."""
        return self._files.folder

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return rig_commands.server_url(self._open_ports)

    @property
    def kubeconfig(self) -> Path:
        """The file of ``admin``, who may do everything."""
        return self._files.kubeconfig(rig_access.ADMIN.name)

    @property
    def config(self) -> ClusterConfig:
        """The way in for ``admin``."""
        return load_config(kubeconfig=self.kubeconfig)

    @property
    def kubectl(self) -> Path:
        """The program kubectl of the same version; raises MissingToolError if there is none."""
        return self.binaries.path(KUBECTL)

    def kubectl_command(self, *arguments: str, user: str = rig_access.ADMIN.name) -> list[str]:
        """A command line of kubectl against this server, to be run as you like."""
        return [
            str(self.kubectl),
            f"--kubeconfig={self.access(user).kubeconfig}",
            f"--cache-dir={self.folder / 'kubectl-cache'}",
            *arguments,
        ]

    def access(self, user: str) -> Access:
        """How ``user`` reaches the server; raises UserError for one that was not let in."""
        path = self._files.kubeconfig(user)
        if not path.exists():
            raise UserError(
                f"control plane has no user {user!r}: name it in users=, or add it by add_user()"
            )
        return Access(user=user, kubeconfig=path)

    def client(self, *, user: str = rig_access.ADMIN.name) -> AbstractAsyncContextManager[Client]:
        """A client of ``user`` for the length of a block."""
        return Client.connect(load_config(kubeconfig=self.access(user).kubeconfig))

    async def add_user(self, user: User) -> Access:
        """Let one more user in while the server runs.

        It comes in by impersonation through ``admin``: RBAC and the audit log know it under its
        own name, but it has no token of its own.
        """
        rig_access.check_names([*self.options.users, user])
        async with self.client() as client:
            await _grant(client, user)
        admin = self._identities[rig_access.ADMIN.name]
        return self._write_access(user.name, admin.token, act_as=user)

    def audit_events(self, *, users: Collection[str] = ()) -> list[AuditEvent]:
        """What the server has logged so far; only requests of ``users`` when given.

        The line of a request may come a moment after its answer: poll for what you expect.
        Raises UserError when the control plane was started without ``audit``.
        """
        return list(read_audit_log(self.audit_log, users=users))

    @property
    def audit_log(self) -> Path:
        if not self.options.audit:
            raise UserError("this control plane has no audit log: start it with audit=True")
        return self._files.audit_log

    def pids(self) -> dict[str, int]:
        """The pid of each program that runs."""
        return {name: one.pid for name, one in self._programs.items() if one.pid is not None}

    def check(self) -> None:
        """Raise `konstat.errors.ControlPlaneError` when one of the programs does not run."""
        for program in self._programs.values():
            program.check()

    # --- outages -----------------------------------------------------------------------------

    async def stop_apiserver(self) -> None:
        """Stop the API server as a drain does: watches end, new connections are refused."""
        await self._programs[APISERVER].stop()

    def kill_apiserver(self) -> None:
        """End the API server as a crash does: open connections break. Then start it again."""
        self._programs[APISERVER].kill()

    async def start_apiserver(self) -> None:
        """Start the API server again, with its data and on its port, and wait until it is ready."""
        deadline = clock.monotonic() + limits.RIG_START_SECONDS
        self._programs[APISERVER].start()
        await self._wait_server(deadline)

    async def restart_apiserver(self) -> None:
        """Stop the API server and start it again."""
        await self.stop_apiserver()
        await self.start_apiserver()

    def pause_apiserver(self) -> None:
        """Freeze the API server: connections stay open and nothing is answered."""
        self._programs[APISERVER].signal(SIGSTOP)

    def resume_apiserver(self) -> None:
        """Let a frozen API server go on."""
        self._programs[APISERVER].signal(SIGCONT)

    # --- start and stop ----------------------------------------------------------------------

    async def start(self) -> None:
        """Start all programs and wait until they are ready; on failure nothing is left behind."""
        assert not self._programs, "a control plane is started once"
        try:
            self._claim()
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop what runs, clients before servers, and give folder and ports back."""
        try:
            for name in reversed(self._programs):
                # An API server whose etcd has died does not come to an end: it is killed.
                orderly = self._programs[ETCD].running
                wait_seconds = limits.RIG_STOP_SECONDS if orderly else 0.0
                await self._programs[name].stop(timeout_seconds=wait_seconds)
        finally:
            for program in self._programs.values():
                program.kill()
            self._programs = {}
            self._claims.close()

    def _claim(self) -> None:
        layout = rig_commands.Layout(folder=self._claims.enter_context(claim_folder(self._data)))
        ports = Ports([*self.options.programs, rig_commands.ETCD_PEER])
        self._claims.callback(ports.close)
        self._layout, self._ports = layout, ports
        # The kubeconfig files of an earlier control plane name its tokens and its port.
        shutil.rmtree(layout.kubeconfigs, ignore_errors=True)
        for folder in (layout.logs, layout.certificate_folder, layout.kubeconfigs):
            folder.mkdir(mode=0o700, exist_ok=True)
        self._write_files(layout)
        lines = rig_commands.command_lines(self.options, self.binaries, layout, ports)
        self._programs = {
            name: Program(name, line, log=layout.log(name)) for name, line in lines.items()
        }

    def _write_files(self, layout: rig_commands.Layout) -> None:
        layout.audit_policy.write_bytes(audit_policy())
        known = (rig_access.ADMIN, rig_access.CONTROLLER_MANAGER_USER, rig_access.SCHEDULER_USER)
        for user in (*known, *self.options.users):
            self._identities[user.name] = Identity(name=user.name, groups=user.groups)
        text = rig_access.token_file(list(self._identities.values()))
        rig_access.write_secret(layout.tokens, text.encode())
        if not layout.service_account_key.exists():
            rig_access.write_secret(layout.service_account_key, rig_access.signing_key())

    async def _start(self) -> None:
        deadline = clock.monotonic() + limits.RIG_START_SECONDS
        first = [self._programs[ETCD], self._programs[APISERVER]]
        for program in first:
            program.start()
        await self._wait_certificates(APISERVER, deadline)
        for identity in self._identities.values():
            self._write_access(identity.name, identity.token)
        await self._wait_server(deadline)
        rest = [one for one in self._programs.values() if one not in first]
        for program in rest:
            program.start()
        for program in rest:
            await self._wait_healthy(program.name, deadline)
        async with self.client() as client:
            for user in self.options.users:
                await _grant(client, user)
            await self._wait_objects(client, deadline)

    async def _wait_server(self, deadline: float) -> None:
        servers = [self._programs[ETCD], self._programs[APISERVER]]
        async with self.client() as client:
            await wait_until(
                lambda: answers(client, "/readyz"),
                what="readiness of the API server",
                programs=servers,
                deadline=deadline,
            )

    async def _wait_certificates(self, name: str, deadline: float) -> None:
        async def are_there() -> bool:
            return self._files.has_certificates(name)

        await wait_until(
            are_there,
            what=f"the certificate of {name}",
            programs=[self._programs[name]],
            deadline=deadline,
        )

    async def _wait_healthy(self, name: str, deadline: float) -> None:
        await self._wait_certificates(name, deadline)
        config = ClusterConfig(
            server=f"https://{HOST}:{self._open_ports[name]}",
            ca_file=str(self._files.certificates(name)),
            source=f"the health endpoint of {name}",
        )
        async with Client.connect(config) as client:
            await wait_until(
                lambda: answers(client, "/healthz"),
                what=f"health of {name}",
                programs=list(self._programs.values()),
                deadline=deadline,
            )

    async def _wait_objects(self, client: Client, deadline: float) -> None:
        """Wait for what every cluster has: system namespaces, and what Pods need."""
        for name in ("default", "kube-system"):
            await self._wait_object(client, NAMESPACE, name, "", deadline)
        if self.options.controller_manager:
            await self._wait_object(client, SERVICE_ACCOUNT, "default", "default", deadline)

    async def _wait_object(
        self, client: Client, kind: Kind, name: str, namespace: str, deadline: float
    ) -> None:
        await wait_until(
            lambda: exists(client, kind, name, namespace=namespace),
            what=f"the creation of {kind.kind} {name}",
            programs=list(self._programs.values()),
            deadline=deadline,
        )

    def _write_access(self, user: str, token: str, *, act_as: User | None = None) -> Access:
        content = rig_access.kubeconfig(
            server=self.server,
            authority=self._files.certificates(APISERVER).read_bytes(),
            token=token,
            user=user,
            act_as=act_as,
        )
        path = self._files.kubeconfig(user)
        rig_access.write_secret(path, content)
        return Access(user=user, kubeconfig=path)

    @property
    def _files(self) -> rig_commands.Layout:
        if self._layout is None:
            raise ControlPlaneError("the control plane is not started: use `async with`")
        return self._layout

    @property
    def _open_ports(self) -> Ports:
        if self._ports is None:
            raise ControlPlaneError("the control plane is not started: use `async with`")
        return self._ports


async def _grant(client: Client, user: User) -> None:
    """Create what lets ``user`` do what its rules say, or correct what is there."""
    for name in user.namespaces:
        content = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        try:
            await client.create(NAMESPACE, content)
        except AlreadyExists:
            continue
    for content in rig_access.rbac_objects(user):
        kind = Kind(
            group="rbac.authorization.k8s.io",
            version="v1",
            kind=content["kind"],
            plural=f"{content['kind'].lower()}s",
            namespaced=not content["kind"].startswith("Cluster"),
        )
        place = content["metadata"].get("namespace", "")
        await client.apply(kind, content, namespace=place, force=True)
