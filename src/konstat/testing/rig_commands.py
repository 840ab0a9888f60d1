"""The command lines of the rig's programs, and the folder layout that they share.

Pure: nothing is written or started. The flags were found by measuring a real server; each that
is not obvious says why it is there. Flags of the caller come last, so they win.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from konstat.testing.rig_access import CONTROLLER_MANAGER_USER, SCHEDULER_USER, User
from konstat.testing.rig_audit import audit_flags
from konstat.testing.rig_binaries import Binaries
from konstat.testing.rig_module import APISERVER, CONTROLLER_MANAGER, ETCD, SCHEDULER
from konstat.testing.rig_ports import HOST, Ports

ETCD_PEER: Final = "etcd-peer"
# Services of the cluster get addresses here; nothing routes them.
_SERVICE_RANGE: Final = "10.96.0.0/16"
# The programs name their certificate files after themselves, but for this one.
_PAIR_NAMES: Final = {APISERVER: "apiserver"}


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What a control plane consists of; `konstat.testing.rig_plane` describes each."""

    controller_manager: bool = True
    scheduler: bool = True
    audit: bool = False
    users: tuple[User, ...] = ()
    etcd_flags: tuple[str, ...] = ()
    apiserver_flags: tuple[str, ...] = ()
    controller_manager_flags: tuple[str, ...] = ()
    scheduler_flags: tuple[str, ...] = ()

    @property
    def programs(self) -> tuple[str, ...]:
        """The programs to run, in the order of their start."""
        manager = (CONTROLLER_MANAGER,) if self.controller_manager else ()
        scheduler = (SCHEDULER,) if self.scheduler else ()
        return (ETCD, APISERVER, *manager, *scheduler)


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Where the files of one control plane are."""

    folder: Path

    @property
    def certificate_folder(self) -> Path:
        return self.folder / "certificates"

    @property
    def service_account_key(self) -> Path:
        return self.folder / "service-account.key"

    @property
    def tokens(self) -> Path:
        return self.folder / "tokens.csv"

    @property
    def audit_policy(self) -> Path:
        return self.folder / "audit-policy.json"

    @property
    def audit_log(self) -> Path:
        return self.folder / "audit.log"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def kubeconfigs(self) -> Path:
        return self.folder / "kubeconfigs"

    def log(self, program: str) -> Path:
        return self.logs / f"{program}.log"

    def kubeconfig(self, user: str) -> Path:
        return self.kubeconfigs / f"{user}.kubeconfig"

    def certificates(self, program: str) -> Path:
        """What ``program`` serves with and writes: its certificate, then its authority's."""
        return self.certificate_folder / f"{_PAIR_NAMES.get(program, program)}.crt"

    def has_certificates(self, program: str) -> bool:
        """Whether that file is whole: the program writes the key after it."""
        return self.certificates(program).with_suffix(".key").exists()


def server_url(ports: Ports) -> str:
    return f"https://{HOST}:{ports[APISERVER]}"


def command_lines(
    options: Options, binaries: Binaries, layout: Layout, ports: Ports
) -> dict[str, list[str]]:
    """The command line of each of ``options.programs``, in the order of their start."""
    added = {
        ETCD: options.etcd_flags,
        APISERVER: options.apiserver_flags,
        CONTROLLER_MANAGER: options.controller_manager_flags,
        SCHEDULER: options.scheduler_flags,
    }
    return {
        name: [str(binaries.path(name)), *_flags(name, options, layout, ports), *added[name]]
        for name in options.programs
    }


def _flags(program: str, options: Options, layout: Layout, ports: Ports) -> list[str]:
    if program == ETCD:
        return _etcd(layout, ports)
    if program == APISERVER:
        return _apiserver(options, layout, ports)
    if program == CONTROLLER_MANAGER:
        return _controller_manager(layout, ports)
    return _as_client(SCHEDULER, layout, ports, user=SCHEDULER_USER)


def _etcd(layout: Layout, ports: Ports) -> list[str]:
    client = f"http://{HOST}:{ports[ETCD]}"
    peer = f"http://{HOST}:{ports[ETCD_PEER]}"
    return [
        "--name=rig",
        f"--data-dir={layout.folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=rig={peer}",
        "--socket-reuse-port",
        # Data of a test need not survive a power cut; saves most of the time of a write.
        "--unsafe-no-fsync",
        # Without it a quiet watch gets no bookmark for minutes.
        "--watch-progress-notify-interval=5s",
        "--log-level=warn",
    ]


def _apiserver(options: Options, layout: Layout, ports: Ports) -> list[str]:
    key = layout.service_account_key
    audit = audit_flags(layout.audit_policy, log=layout.audit_log) if options.audit else []
    # The controller-manager makes each namespace's default ServiceAccount; without it the
    # admission plugin that demands one would refuse every Pod.
    without = [] if options.controller_manager else ["--disable-admission-plugins=ServiceAccount"]
    return [
        f"--etcd-servers=http://{HOST}:{ports[ETCD]}",
        f"--secure-port={ports[APISERVER]}",
        f"--bind-address={HOST}",
        f"--advertise-address={HOST}",
        "--permit-port-sharing=true",
        # Makes its own certificate there, or takes the one that an earlier start made.
        f"--cert-dir={layout.certificate_folder}",
        f"--token-auth-file={layout.tokens}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        f"--service-cluster-ip-range={_SERVICE_RANGE}",
        "--allow-privileged=true",
        # Ends the watches when it stops; it would wait for their clients to go otherwise.
        "--shutdown-watch-termination-grace-period=1s",
        *without,
        *audit,
    ]


def _controller_manager(layout: Layout, ports: Ports) -> list[str]:
    return [
        *_as_client(CONTROLLER_MANAGER, layout, ports, user=CONTROLLER_MANAGER_USER),
        f"--service-account-private-key-file={layout.service_account_key}",
        f"--root-ca-file={layout.certificates(APISERVER)}",
        # Each controller under its own name, as in a real cluster and as the audit log shows it.
        "--use-service-account-credentials=true",
    ]


def _as_client(program: str, layout: Layout, ports: Ports, *, user: User) -> list[str]:
    return [
        f"--kubeconfig={layout.kubeconfig(user.name)}",
        f"--secure-port={ports[program]}",
        f"--bind-address={HOST}",
        "--permit-port-sharing=true",
        f"--cert-dir={layout.certificate_folder}",
        "--leader-elect=false",  # there is only one
        # The default of 20 requests a second makes the first default ServiceAccount wait for 5 s.
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]
