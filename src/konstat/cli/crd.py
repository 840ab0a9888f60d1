"""`konstat crd`: the CustomResourceDefinitions of a file or module, to apply or to keep in Git.

Before: `konstat.cli.target` finds the resource classes. `konstat.objects.crd` makes the manifests.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import click
import msgspec
import yaml

from konstat.cli.target import load_resources
from konstat.objects.crd import crd as crd_of

_WIDTH = 100

# Booleans of YAML 1.1, and numbers as any reader writes them: 1e3, 0x1F, 0o17, 12:30, .inf, 1_000.
_AMBIGUOUS = re.compile(
    r"(?i:y|n|yes|no|on|off|true|false|null|~|[-+]?\.(inf|nan))|[-+]?[\d.][\w.:+-]*"
)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        """Write shared parts out: anchors confuse people and some YAML readers."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Quote what any YAML reader may take for something else: kubectl's takes ``y`` for true."""
    style = "'" if _AMBIGUOUS.fullmatch(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


@click.command()
@click.argument("target")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["yaml", "json"]),
    default="yaml",
    show_default=True,
    help="YAML documents, or one JSON object of kind List.",
)
def crd(target: str, output: str) -> None:
    """Print the CustomResourceDefinitions of TARGET.

    TARGET is file.py or package.module, and :attribute for one controller or resource class.

    \b
    Example:
        konstat crd webapp.py | kubectl apply --server-side -f -
        konstat crd shop.operators:WebApp -o json
    """
    manifests = [crd_of(resource) for resource in load_resources(target)]
    click.echo(as_json(manifests) if output == "json" else as_yaml(manifests), nl=False)


def as_yaml(manifests: Sequence[dict[str, Any]]) -> str:
    """The manifests as YAML documents, keys in their own order."""
    return yaml.dump_all(
        manifests,
        Dumper=_Dumper,
        sort_keys=False,
        explicit_start=True,
        allow_unicode=True,
        width=_WIDTH,
    )


def as_json(manifests: Sequence[dict[str, Any]]) -> str:
    """The manifests as one List, which kubectl takes as it takes the YAML."""
    content = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"
