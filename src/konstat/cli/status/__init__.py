"""`konstat status`: resources as trees, down to the pod that is the cause.

Reading order: `command` (options), `plan` (which kinds), `gather` (read once) or `live` (follow),
`tree` (objects to nodes), then `outline`, `render` and `screen` for people or `document` for
scripts. Only `gather` and `live` talk to a server; `tree`, `outline` and `render` are pure.
"""

from konstat.cli.status.command import status

__all__ = ["status"]
