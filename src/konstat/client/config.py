"""The search for a cluster: a kubeconfig, or the pod that we run in.

Before: `konstat.client.kubeconfig` reads the files into a `ClusterConfig`. After:
`konstat.client.transport` connects with it.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from konstat.client.cluster import ClusterConfig, ExecConfig, Impersonation
from konstat.client.files import read_text
from konstat.client.kubeconfig import load_kubeconfig
from konstat.errors import ConfigError

__all__ = [
    "ClusterConfig",
    "ExecConfig",
    "Impersonation",
    "in_cluster_config",
    "load_config",
    "proxy_from_environment",
]

SERVICE_ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"


def load_config(
    *,
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> ClusterConfig:
    """Find the cluster as kubectl does.

    In this order: the file ``kubeconfig``; the files of ``$KUBECONFIG``, merged; the file
    ``~/.kube/config``; the service account of the pod that we run in. A proxy comes from the
    kubeconfig or else from ``HTTPS_PROXY`` and ``NO_PROXY``.
    Raises ConfigError, which says what was looked at.
    """
    environment = os.environ if environment is None else environment
    files = _kubeconfig_files(kubeconfig, environment)
    if files:
        config = load_kubeconfig(files, context=context)
    elif context is not None:
        raise ConfigError(f"context {context!r} was asked for, but there is no kubeconfig")
    else:
        config = in_cluster_config(environment)
    if not config.proxy_url:
        proxy_url = proxy_from_environment(config.server, environment)
        config = msgspec.structs.replace(config, proxy_url=proxy_url)
    return config


def _kubeconfig_files(
    kubeconfig: str | os.PathLike[str] | None, environment: Mapping[str, str]
) -> list[Path]:
    """The kubeconfig files to read; none when the pod's service account must serve."""
    if kubeconfig is not None:
        return [Path(kubeconfig).expanduser()]
    named = [part for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    if named:
        files = [path for path in map(Path, named) if path.exists()]
        if not files:
            raise ConfigError(
                f"KUBECONFIG names {', '.join(named)}, which does not exist: correct or unset it"
            )
        return files
    home = environment.get("HOME", "")
    usual = Path(home, ".kube", "config") if home else None
    return [usual] if usual is not None and usual.exists() else []


def in_cluster_config(
    environment: Mapping[str, str], *, folder: str | os.PathLike[str] = SERVICE_ACCOUNT_FOLDER
) -> ClusterConfig:
    """The service account of the pod we run in; its token file is read again as it rotates.

    Raises ConfigError outside of a pod, or when the token is not mounted.
    """
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise ConfigError(
            "no cluster is configured: there is no KUBECONFIG, no ~/.kube/config, and this is not"
            " a pod (KUBERNETES_SERVICE_HOST is not set); give a kubeconfig"
        )
    token_file, ca_file = Path(folder, "token"), Path(folder, "ca.crt")
    namespace_file = Path(folder, "namespace")
    if not token_file.exists():
        raise ConfigError(
            f"{token_file} does not exist: the pod needs a service account whose token is mounted"
            " (automountServiceAccountToken)"
        )
    namespace = ""
    if namespace_file.exists():
        namespace = read_text(namespace_file, what="the pod's namespace").strip()
    return ClusterConfig(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        namespace=namespace or "default",
        ca_file=str(ca_file) if ca_file.exists() else "",
        token_file=str(token_file),
        source="the pod's service account",
    )


def proxy_from_environment(server: str, environment: Mapping[str, str]) -> str:
    """The proxy for ``server`` by HTTPS_PROXY, HTTP_PROXY and NO_PROXY; empty for none.

    Loopback addresses are always reached directly, and NO_PROXY may hold networks
    (``10.0.0.0/8``), as for Go programs.
    """
    parts = urlsplit(server)
    host = parts.hostname or ""
    variable = f"{parts.scheme}_proxy"
    proxy_url = environment.get(variable) or environment.get(variable.upper()) or ""
    direct = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    entries = [entry.strip().lower() for entry in direct.split(",") if entry.strip()]
    if not proxy_url or host == "localhost" or _in_networks(host, ["127.0.0.0/8", "::1/128"]):
        return ""
    if _in_networks(host, entries) or any(_in_domain(host, entry) for entry in entries):
        return ""
    return proxy_url if "://" in proxy_url else f"http://{proxy_url}"


def _in_domain(host: str, entry: str) -> bool:
    """Whether NO_PROXY's ``entry`` names the host, a domain above it, or everything."""
    domain = entry.removeprefix("*").lstrip(".")
    return entry == "*" or (domain != "" and (host == domain or host.endswith("." + domain)))


def _in_networks(host: str, networks: list[str]) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    for network in networks:
        try:
            if address in ipaddress.ip_network(network, strict=False):
                return True
        except ValueError:
            continue
    return False
