"""`konstat explain`: is this done; if not, why, whose turn is it, and what to look at next.

Reading order: `command` (options and exit status), `manifests` (objects from files) or
`konstat.cli.status.gather` (objects from a server), `konstat.cli.status.tree` (verdicts), `story`
(what is told of them, pure), `hints` (where to look next), `render` (lines).
"""

from konstat.cli.explain.command import explain

__all__ = ["explain"]
