"""`ClusterConfig`: where one API server is and how to log in to it, as plain data.

`konstat.client.config` finds one; `konstat.client.transport` connects with it;
`konstat.client.auth` and `konstat.client.tls` read its credentials.
"""

from __future__ import annotations

import msgspec


class Impersonation(msgspec.Struct, frozen=True, kw_only=True):
    """Whom the requests act as (``as`` in a kubeconfig)."""

    user: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class ExecConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A credentials plugin: a program that prints an ExecCredential.

    ``environment`` is added to ours. ``cluster_info`` (provideClusterInfo) hands it the cluster;
    ``cluster_extension`` is the cluster's extension of the name client.authentication.k8s.io/exec.
    """

    command: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    api_version: str = "client.authentication.k8s.io/v1"
    interactive_mode: str = "IfAvailable"
    cluster_info: bool = False
    cluster_extension: msgspec.Raw | None = None
    install_hint: str = ""

    def __repr__(self) -> str:
        return f"ExecConfig(command={self.command!r})"


class ClusterConfig(msgspec.Struct, frozen=True, kw_only=True):
    """One API server and one way to log in to it.

    Data in place wins over files, ``token_file`` over ``token``, and a token over ``exec``, as for
    kubectl. ``source`` and ``context`` say in messages where it all came from.
    Its repr shows no secrets.
    """

    server: str
    namespace: str = "default"
    ca_data: bytes = b""
    ca_file: str = ""
    client_certificate_data: bytes = b""
    client_certificate_file: str = ""
    client_key_data: bytes = b""
    client_key_file: str = ""
    token: str = ""
    token_file: str = ""
    username: str = ""
    password: str = ""
    exec: ExecConfig | None = None
    proxy_url: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    impersonation: Impersonation | None = None
    context: str = ""
    source: str = "the program"

    def __repr__(self) -> str:
        return (
            f"ClusterConfig(server={self.server!r}, namespace={self.namespace!r},"
            f" context={self.context!r}, source={self.source!r})"
        )
