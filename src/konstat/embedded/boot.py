"""What is there from the start: the system namespaces and the service of the API itself.

Written by the server's own manager, as kube-apiserver does when it starts. Before: `verbs_write`.
After: `server`.
"""

from __future__ import annotations

from typing import Final

from konstat.embedded.options import WriteOptions
from konstat.embedded.registry import Object
from konstat.embedded.state import State
from konstat.embedded.verbs_write import Target, Writer

NAMESPACES: Final = ("kube-system", "kube-public", "kube-node-lease", "default")
_OPTIONS: Final = WriteOptions(manager="kube-apiserver")


def boot(state: State, writer: Writer) -> None:
    """Create what every server has."""
    for name in NAMESPACES:
        _create(state, writer, "namespaces", "", {"metadata": {"name": name}, "kind": "Namespace"})
    service: Object = {
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": "10.96.0.1",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 443}],
        },
    }
    _create(state, writer, "services", "default", service)


def _create(state: State, writer: Writer, plural: str, namespace: str, content: Object) -> None:
    kind = state.registry.find("", "v1", plural)
    assert kind is not None
    obj: Object = {"apiVersion": "v1", **content}
    kind.decode(obj)
    kind.defaults(obj)
    writer.create(Target(kind, namespace), obj, _OPTIONS, [])
