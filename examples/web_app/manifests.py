"""The children of a WebApp, in the words of their YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from konstat.kinds import Deployment, Service

if TYPE_CHECKING:
    from web_app import WebApp


def labels(app: WebApp) -> dict[str, str]:
    return {"app.kubernetes.io/name": "web-app", "app.kubernetes.io/instance": app.name}


def deployment(app: WebApp) -> Deployment:
    container = {
        "name": "web",
        "image": app.spec.image,
        "ports": [{"name": "http", "containerPort": 8080}],
    }
    return Deployment(
        metadata={"name": app.name, "labels": labels(app)},
        spec={
            "replicas": app.spec.replicas,
            "selector": {"matchLabels": labels(app)},
            "template": {
                "metadata": {"labels": labels(app)},
                "spec": {"containers": [container]},
            },
        },
    )


def service(app: WebApp) -> Service:
    return Service(
        metadata={"name": app.name, "labels": labels(app)},
        spec={
            "selector": labels(app),
            "ports": [{"name": "http", "port": 80, "targetPort": "http"}],
        },
    )
