"""An operator that makes mistakes when its resources ask for them."""

from konstat import Component, Context, Controller, Resource, Spec, Status


class JarSpec(Spec):
    text: str = ""


class JarStatus(Status):
    lid: Component


class Jar(Resource[JarSpec, JarStatus], group="mistakes.example.com", version="v1"):
    """Says what it is told, as an exception."""


jars = Controller(Jar)


@jars.reconcile
async def reconcile(jar: Jar, context: Context[Jar]) -> None:
    if jar.spec.text == "block":
        deadline = context.now().timestamp() + 1.6
        while context.now().timestamp() < deadline:
            pass
    elif jar.spec.text:
        raise ValueError(jar.spec.text)
    context.status.lid.good()
