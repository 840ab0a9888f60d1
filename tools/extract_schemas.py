"""Write the built-in kinds' data: schemas of a real server, forms of the Go types behind them.

    python tools/extract_schemas.py --kubeconfig rig.kubeconfig

Schemas come from the server's own /openapi/v3, without prose; one file per package, one line per
definition. What OpenAPI does not say (which empty fields Go writes and which it leaves out, and
how Go names the type of a field in its errors) is read from the declarations in the modules that
`rig/go.mod` names; `go` must be there.

After: `konstat.embedded.builtin.definitions` reads the files. A test on the rig compares them with
what the server of that day says.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from konstat.client.api import Client
from konstat.client.config import load_config

ROOT: Final = Path(__file__).resolve().parents[1]
TARGET: Final = ROOT / "src/konstat/embedded/builtin/schemas"
PREFIX: Final = "#/components/schemas/"

# The kinds whose definitions are kept, with all that they refer to.
KINDS: Final = {
    "api/v1": (
        "Namespace NamespaceList ConfigMap ConfigMapList Secret SecretList Service ServiceList"
        " ServiceAccount ServiceAccountList Pod PodList Node NodeList Event EventList Endpoints"
        " EndpointsList PersistentVolumeClaim PersistentVolumeClaimList PersistentVolume"
        " PersistentVolumeList ResourceQuota ResourceQuotaList LimitRange LimitRangeList Binding"
        " Status DeleteOptions WatchEvent APIResourceList"
    ),
    "apis/admissionregistration.k8s.io/v1": (
        "MutatingWebhookConfiguration MutatingWebhookConfigurationList"
        " ValidatingWebhookConfiguration ValidatingWebhookConfigurationList"
    ),
    "apis/apiextensions.k8s.io/v1": "CustomResourceDefinition CustomResourceDefinitionList",
    "apis/apiregistration.k8s.io/v1": "APIService APIServiceList",
    "apis/apps/v1": (
        "Deployment DeploymentList ReplicaSet ReplicaSetList StatefulSet StatefulSetList DaemonSet"
        " DaemonSetList ControllerRevision ControllerRevisionList"
    ),
    "apis/authentication.k8s.io/v1": "SelfSubjectReview",
    "apis/authorization.k8s.io/v1": "SelfSubjectAccessReview SelfSubjectRulesReview",
    "apis/autoscaling/v1": "Scale",
    "apis/autoscaling/v2": "HorizontalPodAutoscaler HorizontalPodAutoscalerList",
    "apis/batch/v1": "Job JobList CronJob CronJobList",
    "apis/coordination.k8s.io/v1": "Lease LeaseList",
    "apis/discovery.k8s.io/v1": "EndpointSlice EndpointSliceList",
    "apis/events.k8s.io/v1": "Event EventList",
    "apis/networking.k8s.io/v1": (
        "Ingress IngressList IngressClass IngressClassList NetworkPolicy NetworkPolicyList"
    ),
    "apis/policy/v1": "PodDisruptionBudget PodDisruptionBudgetList Eviction",
    "apis/rbac.authorization.k8s.io/v1": (
        "Role RoleList RoleBinding RoleBindingList ClusterRole ClusterRoleList ClusterRoleBinding"
        " ClusterRoleBindingList"
    ),
    "apis/scheduling.k8s.io/v1": "PriorityClass PriorityClassList",
    "apis/storage.k8s.io/v1": "StorageClass StorageClassList CSIDriver CSIDriverList",
}

# Where the packages of definitions are declared: beginning of the name, module, folder in it.
PACKAGES: Final = (
    ("io.k8s.apimachinery.pkg.", "k8s.io/apimachinery", "pkg/"),
    ("io.k8s.apiextensions-apiserver.pkg.", "k8s.io/apiextensions-apiserver", "pkg/"),
    ("io.k8s.kube-aggregator.pkg.", "k8s.io/kube-aggregator", "pkg/"),
    ("io.k8s.api.", "k8s.io/api", ""),
)
_STRUCT: Final = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD: Final = re.compile(r"^\t(?:(\w+)\s+)?([\w.*\[\]]+)\s+`[^`]*json:\"([^\"]*)\"", re.MULTILINE)
_NAMED: Final = re.compile(r"^type (\w+) ([\w.*\[\]]+)$", re.MULTILINE)


# --- schemas ----------------------------------------------------------------------------------


async def read_server(client: Client) -> dict[str, Any]:
    """The wanted definitions of a server, by name."""
    kept: dict[str, Any] = {}
    for path, kinds in KINDS.items():
        document = json.loads(await client.exchange("GET", f"/openapi/v3/{path}"))
        schemas = document["components"]["schemas"]
        version = path.removeprefix("apis/").removeprefix("api/")
        group, _, version = version.rpartition("/")
        for name in closure(schemas, roots(schemas, group, version, kinds.split())):
            kept[name] = cleaned(schemas[name], name)
    return dict(sorted(kept.items()))


def roots(schemas: dict[str, Any], group: str, version: str, kinds: Iterable[str]) -> Iterator[str]:
    """The names of the definitions of ``kinds``."""
    for kind in kinds:
        wanted = {"group": group, "version": version, "kind": kind}
        found = [
            name
            for name, schema in schemas.items()
            if wanted in schema.get("x-kubernetes-group-version-kind", ())
            and name.rpartition(".")[2] == kind
        ]
        yield from found or [f"io.k8s.apimachinery.pkg.apis.meta.v1.{kind}"]


def closure(schemas: dict[str, Any], names: Iterable[str]) -> set[str]:
    """These names and all that their schemas refer to."""
    seen: set[str] = set()
    waiting = [name for name in names if name in schemas]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += references(schemas[name])
    return seen


def references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(reference := schema.get("$ref"), str):
            yield reference.removeprefix(PREFIX)
        for value in schema.values():
            yield from references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from references(value)


def cleaned(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """Without prose; kinds that every group lists as its own are kept once, as the core's."""
    bare = without_prose(schema)
    kinds = bare.get("x-kubernetes-group-version-kind")
    if kinds and ".apis.meta." in name:
        bare["x-kubernetes-group-version-kind"] = [kind for kind in kinds if not kind["group"]]
    return bare


def without_prose(value: Any, *, named: bool = False) -> Any:
    """A schema without descriptions; ``named`` for maps whose keys are names of fields."""
    if isinstance(value, dict):
        return {
            key: without_prose(inner, named=key == "properties" and not named)
            for key, inner in value.items()
            if named or key != "description"
        }
    return [without_prose(inner) for inner in value] if isinstance(value, list) else value


# --- Go ---------------------------------------------------------------------------------------


def module_folder(module: str) -> Path:
    command = ["go", "list", "-mod=mod", "-m", "-f", "{{.Dir}}", module]
    ran = subprocess.run(command, cwd=ROOT / "rig", capture_output=True, text=True, check=True)
    return Path(ran.stdout.strip())


class Declarations:
    """The structs of the modules, read when they are asked for."""

    def __init__(self) -> None:
        self._folders: dict[str, Path] = {}
        self._packages: dict[str, dict[str, str]] = {}

    def package(self, package: str) -> dict[str, str]:
        """Bodies of structs by name, of a package such as ``io.k8s.api.apps.v1``."""
        if package not in self._packages:
            start, module, inside = next(one for one in PACKAGES if package.startswith(one[0]))
            if module not in self._folders:
                self._folders[module] = module_folder(module)
            folder = self._folders[module] / inside / package.removeprefix(start).replace(".", "/")
            texts = [path.read_text() for path in folder.glob("*.go") if "_test" not in path.name]
            self._packages[package] = {
                name: body for text in texts for name, body in _STRUCT.findall(text)
            }
        return self._packages[package]

    def form(self, package: str, struct: str) -> dict[str, str]:
        """Field → code and Go type, those of inlined structs among them."""
        body = self.package(package).get(struct)
        if body is None:
            return {}
        fields: dict[str, str] = {}
        for own_name, go_type, tag in _FIELD.findall(body):
            name, *options = tag.split(",")
            if name == "-":
                continue
            if "inline" in options or (not name and not own_name):
                fields |= self._inlined(package, go_type)
                continue
            fields[name] = f"{code(go_type, options)} {shown_type(go_type, package)}"
        return fields

    def _inlined(self, package: str, go_type: str) -> dict[str, str]:
        qualifier, _, struct = go_type.lstrip("*").rpartition(".")
        if struct == "TypeMeta":
            return {"apiVersion": "e string", "kind": "e string"}
        others = {"metav1": "io.k8s.apimachinery.pkg.apis.meta.v1", "v1": "io.k8s.api.core.v1"}
        return self.form(others.get(qualifier, package), struct)


def code(go_type: str, options: list[str]) -> str:
    """How Go writes an empty field.

    ``e`` leaves out what is empty, ``n`` leaves out null only, ``k`` keeps the zero value (for
    lists and maps: null), ``p`` keeps null, ``s`` is a struct, always written.
    """
    omitted = "omitempty" in options or "omitzero" in options
    if go_type.startswith("*"):
        return "n" if omitted else "p"
    if go_type.startswith(("[", "map[")):
        return "e" if omitted else "k"
    if "omitzero" in options:
        return "n"
    plain = re.fullmatch(r"u?int(8|16|32|64)?|bool|string|float(32|64)|byte", go_type)
    return ("e" if omitted else "k") if plain else ("t" if omitted else "s")


def shown_type(go_type: str, package: str) -> str:
    """The type as encoding/json names it: with the last part of its package."""
    bare = go_type.lstrip("*")
    short = package.rpartition(".")[2]

    def qualified(match: re.Match[str]) -> str:
        word = match[0]
        if "." in word:
            alias, _, name = word.partition(".")
            return f"{'v1' if alias.endswith('v1') else alias}.{name}"
        return word if word == "map" or word.islower() or word[0].islower() else f"{short}.{word}"

    shown = re.sub(r"[A-Za-z][\w.]*", qualified, bare)
    return shown.replace("[]byte", "[]uint8").replace("*", "*")


def forms(definitions: dict[str, Any], declarations: Declarations) -> dict[str, Any]:
    """The form of each definition that is a struct."""
    found: dict[str, Any] = {}
    for name, schema in definitions.items():
        if "properties" in schema:
            package, _, struct = name.rpartition(".")
            form = declarations.form(package, struct)
            found[name] = {field: form[field] for field in schema["properties"] if field in form}
    return found


# --- the server's own types -------------------------------------------------------------------

_INTERNAL_ROOTS: Final = ("PodTemplateSpec", "PersistentVolumeClaimSpec", "PersistentVolumeSource")
_MEMBER: Final = re.compile(r"^\t(?:(\w+)[ \t]+)?([\w.*\[\]]+)[ \t]*(?://.*)?$", re.MULTILINE)
_PLAIN: Final = {"string": "t", "bool": "b"}


def internal_forms() -> dict[str, Any]:
    """The members of the types that the server prints in some refusals, in Go's order.

    Each is ``Name code[:Struct]``: ``s`` a struct, ``p`` a pointer to one, ``l`` a list of them,
    ``n`` what is null when absent, ``t`` text, ``i`` a number, ``b`` a boolean, ``q`` a quantity,
    ``o`` an int or string, ``m`` metadata.
    """
    text = (module_folder("k8s.io/kubernetes") / "pkg/apis/core/types.go").read_text()
    structs, named = dict(_STRUCT.findall(text)), dict(_NAMED.findall(text))
    found: dict[str, Any] = {}
    waiting = list(_INTERNAL_ROOTS)
    while waiting:
        struct = waiting.pop()
        if struct not in found:
            found[struct] = list(_internal_members(structs[struct], structs, named))
            waiting += [one.partition(":")[2] for one in found[struct] if ":" in one]
    return found


def _internal_members(body: str, structs: dict[str, str], named: dict[str, str]) -> Iterator[str]:
    for name, go_type in _MEMBER.findall(body):
        if name:
            yield f"{name} {_internal_code(go_type, structs, named)}"
        elif go_type == "metav1.ObjectMeta":
            yield "ObjectMeta m"
        else:
            yield from _internal_members(structs[go_type], structs, named)


def _internal_code(go_type: str, structs: dict[str, str], named: dict[str, str]) -> str:
    bare = go_type.lstrip("*").removeprefix("[]").lstrip("*")
    if bare in structs:
        code = "p" if go_type.startswith("*") else "l" if go_type.startswith("[]") else "s"
        return f"{code}:{bare}"
    if go_type.startswith(("*", "[", "map[")):
        return "n"
    if go_type in named:
        return _internal_code(named[go_type], structs, named)
    special = {"resource.Quantity": "q", "intstr.IntOrString": "o", "types.UID": "t"}
    return special.get(go_type) or _PLAIN.get(go_type) or ("n" if "." in go_type else "i")


# --- files ------------------------------------------------------------------------------------


def file_name(package: str) -> str:
    short = package.removeprefix("io.k8s.").removeprefix("api.")
    return f"{short.replace('apimachinery.pkg.', '')}.json"


def text_of(content: dict[str, Any]) -> str:
    """One line per definition, so that a change of the server's shows as one."""
    lines = (
        f"{json.dumps(name)}:{json.dumps(value, separators=(',', ':'), sort_keys=True)}"
        for name, value in sorted(content.items())
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def files(definitions: dict[str, Any], go_forms: dict[str, Any]) -> dict[str, str]:
    """File name → text."""
    packages: dict[str, dict[str, Any]] = {}
    for name, schema in definitions.items():
        packages.setdefault(file_name(name.rpartition(".")[0]), {})[name] = schema
    written = {name: text_of(content) for name, content in packages.items()}
    if go_forms:
        written["forms.json"] = text_of(go_forms)
        written["internal.json"] = text_of(internal_forms())
    return written


async def extract(kubeconfig: Path, *, with_forms: bool = True) -> dict[str, str]:
    """The files as they should be."""
    async with Client.connect(load_config(kubeconfig=kubeconfig)) as client:
        definitions = await read_server(client)
    return files(definitions, forms(definitions, Declarations()) if with_forms else {})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kubeconfig", type=Path, required=True)
    texts = asyncio.run(extract(parser.parse_args().kubeconfig))
    TARGET.mkdir(parents=True, exist_ok=True)
    for path in TARGET.glob("*.json"):
        path.unlink()
    for name, text in texts.items():
        (TARGET / name).write_text(text)


if __name__ == "__main__":
    main()
