"""What to look at next: commands that show more of a cause. Pure.

Before: `konstat.cli.explain.story` knows the verdicts. A hint never changes anything: it only
reads.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from konstat.cli.status.tree import TreeNode
from konstat.kinds import BY_KIND
from konstat.readiness import Reason, State

Hint = Callable[[TreeNode], str]


def next_steps(chain: Sequence[TreeNode]) -> tuple[str, ...]:
    """Commands for the object at the end of ``chain``, from the one that was asked for down.

    Empty where nothing is wrong.
    """
    cause = chain[-1]
    if cause.state is State.READY:
        return ()
    return tuple(dict.fromkeys(_steps(chain, cause)))


def _steps(chain: Sequence[TreeNode], cause: TreeNode) -> Iterator[str]:
    if cause.state is State.MISSING:
        yield f"kubectl get {_resource(cause)}{_place(cause)}"
        return
    hint = _BY_REASON.get(cause.reason)
    if hint is not None:
        yield hint(cause)
    # What a controller says of an object stands in its events; what holds a deletion does not.
    if cause.reason not in (Reason.QUOTA_EXCEEDED, Reason.DELETING, Reason.DELETION_STUCK):
        yield _describe(cause)
    if cause.reason in _NOBODY_AT_WORK:
        yield f"the log of the controller that is responsible for {cause.kind}: is it running?"
    if cause.reason == Reason.NO_RULE:
        yield f"what {cause.kind}'s documentation says of its status: --rules FILE takes a rule"


def _describe(node: TreeNode) -> str:
    return f"kubectl describe {_resource(node)} {_name(node)}{_place(node)}"


def _previous_log(node: TreeNode) -> str:
    return f"kubectl logs {_name(node)} --all-containers --previous{_place(node)}"


def _log(node: TreeNode) -> str:
    return f"kubectl logs {_name(node)} --all-containers{_place(node)}"


def _quota(node: TreeNode) -> str:
    return f"kubectl describe resourcequota{_place(node)}"


def _finalizers(node: TreeNode) -> str:
    path = "'{.metadata.finalizers}'"
    return f"kubectl get {_resource(node)} {_name(node)}{_place(node)} -o jsonpath={path}"


def _claims(node: TreeNode) -> str:
    return f"kubectl describe persistentvolumeclaims{_place(node)}"


def _classes(node: TreeNode) -> str:
    return "kubectl get storageclasses"


def _nodes(node: TreeNode) -> str:
    return "kubectl describe nodes"


def _accounts(node: TreeNode) -> str:
    return f"kubectl get serviceaccounts{_place(node)}"


def _webhooks(node: TreeNode) -> str:
    return "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations"


def _for_pods(hint: Hint) -> Hint:
    """``hint`` for a Pod; of another kind, the pods that it selects are not known by name."""
    return lambda node: hint(node) if node.kind == "Pod" else f"kubectl get pods{_place(node)}"


_BY_REASON: Final[dict[str, Hint]] = {
    Reason.CRASH_LOOPING: _for_pods(_previous_log),
    Reason.POD_FAILED: _for_pods(_log),
    Reason.JOB_FAILED: _for_pods(_log),
    Reason.PODS_NOT_READY: _for_pods(_log),
    Reason.QUOTA_EXCEEDED: _quota,
    Reason.DELETING: _finalizers,
    Reason.DELETION_STUCK: _finalizers,
    Reason.CLAIM_NOT_FOUND: _claims,
    Reason.CLAIM_PENDING: _classes,
    Reason.STORAGE_CLASS_NOT_FOUND: _classes,
    Reason.VOLUME_NOT_PROVIDED: _classes,
    Reason.NODE_NOT_READY: _nodes,
    Reason.POD_EVICTED: _nodes,
    Reason.SANDBOX_FAILED: _nodes,
    Reason.UNSCHEDULABLE: _nodes,
    Reason.SERVICE_ACCOUNT_MISSING: _accounts,
    Reason.WEBHOOK_FAILED: _webhooks,
}

# What a controller has not said anything of, or nothing new.
_NOBODY_AT_WORK: Final = frozenset(
    {
        Reason.GENERATION_NOT_OBSERVED,
        Reason.NOT_PICKED_UP,
        Reason.STATUS_AWAITED,
        Reason.STATUS_NOT_REPORTED,
    }
)


def _resource(node: TreeNode) -> str:
    """The kind as kubectl takes it: with its group unless it is built in."""
    group, slash, _ = node.api_version.rpartition("/")
    if not slash or (group, node.kind) in BY_KIND:
        return shlex.quote(node.kind.lower())
    return shlex.quote(f"{node.kind.lower()}.{group}")


def _name(node: TreeNode) -> str:
    return shlex.quote(node.name)


def _place(node: TreeNode) -> str:
    return f" -n {shlex.quote(node.namespace)}" if node.namespace else ""
