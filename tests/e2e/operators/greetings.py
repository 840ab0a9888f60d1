"""The operator of the tutorial."""

from typing import Annotated

from konstat import Component, Context, Controller, Length, Resource, Spec, Stalled, Status
from konstat.kinds import ConfigMap


class GreetingSpec(Spec):
    text: Annotated[str, Length(minimum=1)]


class GreetingStatus(Status):
    content: Component
    words: int = 0


class Greeting(Resource[GreetingSpec, GreetingStatus], group="e2e.example.com", version="v1"):
    """A text for everybody to read."""


greetings = Controller(Greeting, owns=[ConfigMap])


@greetings.reconcile
async def reconcile(greeting: Greeting, context: Context[Greeting]) -> None:
    text = greeting.spec.text
    if text.isupper():
        raise Stalled("Shouting", f"spec.text is {text!r}: write it in small letters")
    config = ConfigMap(metadata={"name": greeting.name}, data={"text": text})
    await context.apply(config, component=context.status.content)
    context.status.words = len(text.split())
