"""Who may talk to a control plane of the rig: tokens, kubeconfig files, RBAC objects, keys.

Nothing here speaks to a server. `konstat.testing.rig_plane` writes the files before it starts
the programs and applies the RBAC objects after.

Keys need no further program or package. kube-apiserver makes its serving certificate itself (with
the certificate authority behind it in the same file, which the kubeconfig files carry), and a key
that signs ServiceAccount tokens is any number below the order of the curve P-256.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from konstat.base import chance
from konstat.errors import UserError

CLUSTER: Final = "konstat-rig"  # the name of cluster and context in every kubeconfig file
_TOKEN_CHARACTERS: Final = 40
_RBAC: Final = "rbac.authorization.k8s.io"


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One RBAC rule: these verbs on these resources (``deployments/status`` is one of its own).

    ``groups`` names API groups, "" being the core group; empty ``names`` means all objects.
    ``urls`` are non-resource URLs such as ``/metrics``, and then there are no resources.
    """

    verbs: tuple[str, ...]
    resources: tuple[str, ...] = ()
    groups: tuple[str, ...] = ("",)
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A user of a control plane with what RBAC lets it do.

    Without ``namespaces`` the rules hold in the whole cluster, else in each of these only.
    """

    name: str
    groups: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    namespaces: tuple[str, ...] = ()


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """How one user reaches the server; the token is in the file, readable by its owner only."""

    user: str
    kubeconfig: Path


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """A user name and its groups with a fresh token."""

    name: str
    groups: tuple[str, ...] = ()
    token: str = msgspec.field(default_factory=lambda: chance.suffix(_TOKEN_CHARACTERS))

    def __repr__(self) -> str:
        return f"Identity(name={self.name!r}, groups={self.groups!r})"


ADMIN: Final = User(name="admin", groups=("system:masters",))
CONTROLLER_MANAGER_USER: Final = User(name="system:kube-controller-manager")
SCHEDULER_USER: Final = User(name="system:kube-scheduler")


def check_names(users: Sequence[User]) -> None:
    """Raise `konstat.errors.UserError` for names that are taken or cannot name a file."""
    taken = {ADMIN.name}
    for user in users:
        if not user.name or "/" in user.name or user.name.startswith((".", "system:")):
            raise UserError(
                f"user name {user.name!r} of the control plane: expected a word without '/' that "
                f"does not begin with '.' or 'system:'"
            )
        if user.name in taken:
            raise UserError(f"user {user.name!r} of the control plane is there twice")
        taken.add(user.name)


def token_file(identities: Sequence[Identity]) -> str:
    """The content of kube-apiserver's ``--token-auth-file``: token, name, uid, groups."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for one in identities:
        rows.writerow([one.token, one.name, f"uid-{one.name}", ",".join(one.groups)])
    return text.getvalue()


def kubeconfig(
    *, server: str, authority: bytes, token: str, user: str, act_as: User | None = None
) -> bytes:
    """A kubeconfig file, in JSON (which is YAML); ``authority`` is PEM.

    With ``act_as`` the token's owner impersonates that user.
    """
    entry: dict[str, Any] = {"token": token}
    if act_as is not None:
        entry["as"] = act_as.name
        if act_as.groups:
            entry["as-groups"] = list(act_as.groups)
    ca = base64.b64encode(authority).decode()
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": CLUSTER, "cluster": {"server": server, "certificate-authority-data": ca}}
        ],
        "users": [{"name": user, "user": entry}],
        "contexts": [{"name": CLUSTER, "context": {"cluster": CLUSTER, "user": user}}],
        "current-context": CLUSTER,
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=2)


def write_secret(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    partial = path.with_name(f"{path.name}.partial")
    partial.unlink(missing_ok=True)
    partial.touch(mode=0o600)
    partial.write_bytes(content)
    partial.replace(path)


def rbac_objects(user: User) -> Iterator[dict[str, Any]]:
    """The roles and bindings that let ``user`` do what its rules say."""
    if not user.rules:
        return
    rules = [_policy_rule(rule) for rule in user.rules]
    name = f"konstat-rig:{user.name}"
    places = [{"namespace": place} for place in user.namespaces] or [{}]
    prefix = "" if user.namespaces else "Cluster"
    for place in places:
        head = {"apiVersion": f"{_RBAC}/v1", "metadata": {"name": name, **place}}
        yield {**head, "kind": f"{prefix}Role", "rules": rules}
        yield {
            **head,
            "kind": f"{prefix}RoleBinding",
            "subjects": [{"kind": "User", "name": user.name, "apiGroup": _RBAC}],
            "roleRef": {"kind": f"{prefix}Role", "name": name, "apiGroup": _RBAC},
        }


def signing_key() -> bytes:
    """A fresh private key on P-256 in PEM, for ServiceAccount tokens.

    RFC 5915 with the public point left out: its readers compute it.
    """
    number = bytearray(hashlib.sha256(chance.suffix(64).encode()).digest())
    number[0] &= 0x7F  # the curve's order is just below 2**256; this stays under it
    curve = bytes.fromhex("a00a06082a8648ce3d030107")  # [0] OBJECT IDENTIFIER prime256v1
    body = b"\x02\x01\x01" + b"\x04\x20" + bytes(number) + curve
    text = base64.encodebytes(b"\x30" + bytes([len(body)]) + body).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{text}-----END EC PRIVATE KEY-----\n".encode()


def _policy_rule(rule: Rule) -> dict[str, list[str]]:
    if rule.urls:
        return {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.urls)}
    plain = {
        "verbs": list(rule.verbs),
        "apiGroups": list(rule.groups),
        "resources": list(rule.resources),
    }
    return {**plain, "resourceNames": list(rule.names)} if rule.names else plain
