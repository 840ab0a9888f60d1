"""An Account may go only when a ConfigMap of its name has released it: cleanup with a wait."""

from konstat import Context, Controller, Resource, Spec, Status, Waiting, Watch
from konstat.kinds import ConfigMap


class AccountSpec(Spec):
    owner: str = ""


class AccountStatus(Status):
    opened: bool = False


class Account(Resource[AccountSpec, AccountStatus], group="e2e.example.com", version="v1"):
    """Something that must be closed before it goes."""


accounts = Controller(Account, watches=[Watch(ConfigMap, lambda config: [config.name])])


@accounts.reconcile
async def reconcile(account: Account, context: Context[Account]) -> None:
    context.status.opened = True


@accounts.cleanup
async def cleanup(account: Account, context: Context[Account]) -> None:
    if context.get(ConfigMap, account.name) is None:
        raise Waiting("NotReleased", f"waits for ConfigMap {account.name}: create it to release")
