"""An operator whose attempts want to end the process: ``rude.py KUBECONFIG NAMESPACE``."""

import asyncio
import sys

from konstat import Component, Context, Controller, Resource, Spec, Status, run


class CrateSpec(Spec):
    text: str = ""
    size: int = 1


class CrateStatus(Status):
    content: Component
    note: str = ""
    size: int = 0


class Crate(Resource[CrateSpec, CrateStatus], group="controller.example.com", version="v1"):
    """As the tests install it."""


crates = Controller(Crate)


@crates.reconcile
async def reconcile(crate: Crate, context: Context[Crate]) -> None:
    match crate.spec.text:
        case "interrupt":
            raise KeyboardInterrupt
        case "exit":
            sys.exit(3)
        case "hold on":
            context.log.info("holding on")
            while True:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    continue
    context.status.content.good()


if __name__ == "__main__":
    run(crates, kubeconfig=sys.argv[1], namespaces=[sys.argv[2]])
