"""`konstat wait`: wait until objects are ready, suspended, gone, or have a condition.

Reading order: `command` (options and exit status), `goal` (what is waited for, pure), `looking`
(what one look at the world means, pure), `screen` (the live line).
"""

from konstat.cli.wait.command import wait

__all__ = ["wait"]
