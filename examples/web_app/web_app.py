"""A stateless web application: one Deployment behind one Service.

Run it with ``konstat run examples/web_app/web_app.py --install-crds``.
"""

from typing import Annotated

from manifests import deployment, service

from konstat import Component, Context, Controller, Range, Resource, Spec, Stalled, Status, run
from konstat.kinds import Deployment, Service


class WebAppSpec(Spec):
    image: str
    replicas: Annotated[int, Range(0, 50)] = 1


class WebAppStatus(Status):
    workload: Component  # becomes condition WorkloadReady, evidence from the child's readiness
    network: Component
    ready_replicas: int = 0


class WebApp(Resource[WebAppSpec, WebAppStatus], group="demo.example.com", version="v1"):
    """A stateless web application: one Deployment behind one Service."""


webapps = Controller(WebApp, owns=[Deployment, Service])


@webapps.reconcile
async def reconcile(app: WebApp, context: Context[WebApp]) -> None:
    if ":" not in app.spec.image:
        raise Stalled("ImageUntagged", f"spec.image is {app.spec.image!r}: write it as name:tag")
    status = context.status
    workload = await context.apply(deployment(app), component=status.workload)
    await context.apply(service(app), component=status.network)
    status.ready_replicas = workload.status.ready_replicas


if __name__ == "__main__":
    run(webapps)
