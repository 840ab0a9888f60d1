"""Reads kubeconfig files: merges them, follows a context to its cluster and user.

Called by `konstat.client.config.load_config`. The rules are kubectl's: of several files the first
that has a name wins for the whole entry, and paths inside a file are relative to that file.
Every message names the file and the path in it, what was expected and what to do.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from urllib.parse import urlsplit

import msgspec

from konstat.base.yamltext import load_yaml
from konstat.client.cluster import ClusterConfig, ExecConfig, Impersonation
from konstat.client.files import read_text
from konstat.errors import ConfigError, UserError
from konstat.objects import codec

T = TypeVar("T")

_EXEC_VERSIONS = (
    "client.authentication.k8s.io/v1",
    "client.authentication.k8s.io/v1beta1",
)
_INTERACTIVE_MODES = ("Never", "IfAvailable", "Always")
_EXEC_EXTENSION = "client.authentication.k8s.io/exec"


class _Entry:
    """One named entry (a cluster, a user, a context) with the place it stands at."""

    def __init__(self, file: Path, path: str, fields: Mapping[str, Any]) -> None:
        self.file = file
        self.path = path
        self.fields = fields

    def refuse(self, key: str, problem: str) -> NoReturn:
        place = f"{self.path}.{key}".strip(".")
        raise ConfigError(f"{self.file}: {place}: {problem}")

    def get(self, key: str, kind: type[T], default: T) -> T:
        """The field ``key`` if it is there; raises ConfigError when it is of another type."""
        value = self.fields.get(key)
        if value is None:
            return default
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            # The value is not shown: it may be a secret.
            self.refuse(key, f"expected {_NAMES[kind]}, not {_name_of(value)}")
        return value

    def text(self, key: str) -> str:
        return self.get(key, str, "")

    def line(self, key: str) -> str:
        """Text that goes into a header: one line of it."""
        value = self.text(key).strip()
        if any(c in value for c in "\r\n\0"):
            self.refuse(key, "expected one line of text")
        return value

    def flag(self, key: str) -> bool:
        return self.get(key, bool, False)

    def file_path(self, key: str) -> str:
        """A path, made absolute from the folder of the kubeconfig."""
        value = self.text(key)
        if "\0" in value:
            self.refuse(key, "a path with a null character")
        return str(self.file.absolute().parent / value) if value else ""

    def data(self, key: str) -> bytes:
        """Base64 text, decoded."""
        value = self.text(key)
        try:
            return base64.b64decode("".join(value.split()), validate=True)
        except (binascii.Error, ValueError):
            self.refuse(key, "expected base64 text (of a PEM file); encode it with base64")

    def texts(self, key: str) -> tuple[str, ...]:
        values = self.get(key, list, [])
        for number, value in enumerate(values):
            if not isinstance(value, str):
                self.refuse(f"{key}[{number}]", f"expected text, not {_name_of(value)}")
        return tuple(values)

    def inner(self, key: str) -> _Entry | None:
        """The mapping under ``key``, if there is one."""
        if self.fields.get(key) is None:
            return None
        return _Entry(self.file, f"{self.path}.{key}", self.get(key, dict, {}))


_NAMES: dict[type, str] = {
    str: "text",
    bool: "true or false",
    list: "a list",
    dict: "a mapping",
    int: "a whole number",
}


def _name_of(value: Any) -> str:
    for kind, name in (
        (str, "text"),
        (bool, "true or false"),
        (int, "a number"),
        (float, "a number"),
        (list, "a list"),
        (dict, "a mapping"),
    ):
        if isinstance(value, kind):
            return name
    return "nothing"


class _Merged:
    """The entries of all files: the first of a name wins."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = files
        self.current_context = ""
        self.sections: dict[str, dict[str, _Entry]] = {"clusters": {}, "users": {}, "contexts": {}}
        for file in files:
            self._add(_read_file(file))

    def _add(self, root: _Entry) -> None:
        self.current_context = self.current_context or root.text("current-context")
        for section, entries in self.sections.items():
            for number, fields in enumerate(root.get(section, list, [])):
                place = f"{section}[{number}]"
                if not isinstance(fields, dict):
                    root.refuse(place, f"expected a mapping, not {_name_of(fields)}")
                entry = _Entry(root.file, place, fields)
                name = entry.text("name")
                if not name:
                    entry.refuse("name", "expected the name of the entry")
                inner = entry.inner(section[:-1]) or _Entry(root.file, place, {})
                entries.setdefault(name, inner)

    def find(self, section: str, name: str, *, because: str) -> _Entry:
        entries = self.sections[section]
        if name not in entries:
            shown = ", ".join(sorted(entries)[:20]) or "none"
            raise ConfigError(
                f"{because}, but no {section[:-1]} of that name is in"
                f" {', '.join(map(str, self.files))}; there are: {shown}; correct the name"
            )
        return entries[name]


def _read_file(file: Path) -> _Entry:
    text = read_text(file, what="the kubeconfig")
    try:
        data = load_yaml(text, source=str(file))
    except ConfigError:
        raise
    except UserError as error:
        raise ConfigError(str(error)) from error
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise ConfigError(f"{file}: expected a mapping with kind: Config, not {_name_of(data)}")
    kind = data.get("kind", "Config")
    if kind not in ("Config", None, ""):
        raise ConfigError(f"{file}: kind: expected Config: this is another kind of file")
    return _Entry(file, "", data)


def load_kubeconfig(files: Sequence[Path], *, context: str | None = None) -> ClusterConfig:
    """The cluster and user of ``context``, or of the current context.

    Raises ConfigError for a file that cannot be read or understood, and for a context, cluster or
    user that is named and not there.
    """
    merged = _Merged(files)
    shown = ", ".join(map(str, files))
    name = context if context is not None else merged.current_context
    if not name:
        contexts = ", ".join(sorted(merged.sections["contexts"])[:20])
        if not contexts:
            raise ConfigError(
                f"{shown}: there is no context and no current-context: expected a kubeconfig with"
                " clusters, users and contexts; is it the right file?"
            )
        raise ConfigError(
            f"{shown}: current-context is not set: set it, or ask for one of the contexts:"
            f" {contexts}"
        )
    because = "was asked for" if context is not None else "is the current-context"
    chosen = merged.find("contexts", name, because=f"context {name!r} {because}")
    cluster_name = chosen.text("cluster")
    if not cluster_name:
        chosen.refuse("cluster", f"context {name!r} names no cluster")
    cluster = merged.find(
        "clusters", cluster_name, because=f"context {name!r} names cluster {cluster_name!r}"
    )
    user_name = chosen.text("user")
    user = _Entry(chosen.file, chosen.path, {})
    if user_name:
        user = merged.find("users", user_name, because=f"context {name!r} names user {user_name!r}")
    fields = _cluster_fields(cluster) | _user_fields(user, cluster)
    return ClusterConfig(
        namespace=chosen.text("namespace") or "default", context=name, source=shown, **fields
    )


def _cluster_fields(cluster: _Entry) -> dict[str, Any]:
    server = cluster.text("server")
    _check_url(cluster, "server", server, ("https", "http"))
    proxy_url = cluster.text("proxy-url")
    if proxy_url:
        _check_url(cluster, "proxy-url", proxy_url, ("http", "https", "socks5", "socks5h"))
    skip = cluster.flag("insecure-skip-tls-verify")
    ca_data = cluster.data("certificate-authority-data")
    ca_file = cluster.file_path("certificate-authority")
    if skip and (ca_data or ca_file):
        cluster.refuse(
            "insecure-skip-tls-verify",
            "a certificate authority is given too: remove one of them, for one says to check the"
            " server's certificate and the other not to",
        )
    return {
        "server": server.rstrip("/"),
        "proxy_url": proxy_url,
        "tls_server_name": cluster.text("tls-server-name"),
        "insecure_skip_tls_verify": skip,
        "ca_data": ca_data,
        "ca_file": ca_file,
    }


def _check_url(entry: _Entry, key: str, url: str, schemes: tuple[str, ...]) -> None:
    expected = f"expected an address such as {schemes[0]}://host:port"
    try:
        parts = urlsplit(url)
        usable = bool(parts.scheme in schemes and parts.hostname and parts.port != 0)
    except ValueError:
        entry.refuse(key, expected)
    if not usable or not url.isprintable() or " " in url:
        entry.refuse(key, f"{expected} (schemes: {', '.join(schemes)})")
    if key == "server" and (parts.query or parts.fragment or parts.username is not None):
        entry.refuse(key, f"{expected}, without user, query or fragment")


def _user_fields(user: _Entry, cluster: _Entry) -> dict[str, Any]:
    if user.inner("auth-provider") is not None:
        user.refuse(
            "auth-provider",
            "credentials of this kind were removed from Kubernetes in 1.26: use exec with the"
            " provider's plugin",
        )
    certificate = bool(user.text("client-certificate-data") or user.text("client-certificate"))
    key = bool(user.text("client-key-data") or user.text("client-key"))
    if certificate != key:
        missing = "client-key or client-key-data" if certificate else "client-certificate(-data)"
        user.refuse(
            "", f"a client certificate needs its key and the other way round: add {missing}"
        )
    return {
        "client_certificate_data": user.data("client-certificate-data"),
        "client_certificate_file": user.file_path("client-certificate"),
        "client_key_data": user.data("client-key-data"),
        "client_key_file": user.file_path("client-key"),
        "token": user.line("token"),
        "token_file": user.file_path("tokenFile"),
        "username": user.text("username"),
        "password": user.text("password"),
        "exec": _exec_config(user, cluster),
        "impersonation": _impersonation(user),
    }


def _impersonation(user: _Entry) -> Impersonation | None:
    name = user.line("as")
    groups, uid = user.texts("as-groups"), user.line("as-uid")
    extra_entry = user.inner("as-user-extra")
    extra = (
        tuple((key, extra_entry.texts(key)) for key in extra_entry.fields) if extra_entry else ()
    )
    for value in (*groups, *(text for _, texts in extra for text in texts)):
        if any(c in value for c in "\r\n\0"):
            user.refuse("as-groups and as-user-extra", "expected one line of text each")
    if not name:
        if groups or uid or extra:
            user.refuse("as", "as-groups, as-uid and as-user-extra need a user: add `as`")
        return None
    return Impersonation(user=name, groups=groups, uid=uid, extra=extra)


def _exec_config(user: _Entry, cluster: _Entry) -> ExecConfig | None:
    entry = user.inner("exec")
    if entry is None:
        return None
    version = entry.text("apiVersion")
    if version not in _EXEC_VERSIONS:
        entry.refuse("apiVersion", f"expected {' or '.join(_EXEC_VERSIONS)}; update the plugin")
    command = entry.text("command")
    if not command or "\0" in command:
        entry.refuse("command", "expected the program that prints the credential")
    if "/" in command:
        command = entry.file_path("command")
    mode = entry.text("interactiveMode") or "IfAvailable"
    if mode not in _INTERACTIVE_MODES:
        entry.refuse("interactiveMode", f"expected one of {', '.join(_INTERACTIVE_MODES)}")
    return ExecConfig(
        command=command,
        arguments=entry.texts("args"),
        environment=_exec_environment(entry),
        api_version=version,
        interactive_mode=mode,
        cluster_info=entry.flag("provideClusterInfo"),
        cluster_extension=_exec_extension(cluster),
        install_hint=entry.text("installHint"),
    )


def _exec_environment(entry: _Entry) -> tuple[tuple[str, str], ...]:
    pairs: list[tuple[str, str]] = []
    for number, fields in enumerate(entry.get("env", list, [])):
        place = f"env[{number}]"
        if not isinstance(fields, dict):
            entry.refuse(place, f"expected a mapping with name and value, not {_name_of(fields)}")
        variable = _Entry(entry.file, f"{entry.path}.{place}", fields)
        name, value = variable.text("name"), variable.text("value")
        if not name or "=" in name or "\0" in name + value:
            variable.refuse("name", "expected the name of an environment variable")
        pairs.append((name, value))
    return tuple(pairs)


def _exec_extension(cluster: _Entry) -> msgspec.Raw | None:
    for fields in cluster.get("extensions", list, []):
        if isinstance(fields, dict) and fields.get("name") == _EXEC_EXTENSION:
            return msgspec.Raw(codec.encode(fields.get("extension")))
    return None
