"""A Note becomes one ConfigMap: the smallest child, settled as soon as it exists."""

from konstat import Component, Context, Controller, Resource, Spec, Status
from konstat.kinds import ConfigMap


class NoteSpec(Spec):
    text: str = ""


class NoteStatus(Status):
    content: Component
    characters: int = 0


class Note(Resource[NoteSpec, NoteStatus], group="e2e.example.com", version="v1"):
    """A text that is kept in a ConfigMap."""


notes = Controller(Note, owns=[ConfigMap])


@notes.reconcile
async def reconcile(note: Note, context: Context[Note]) -> None:
    config = ConfigMap(metadata={"name": note.name}, data={"text": note.spec.text})
    await context.apply(config, component=context.status.content)
    context.status.characters = len(note.spec.text)
