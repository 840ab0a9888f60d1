"""Tasks have an owner: their failures surface as they are, and none is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import pytest

from konstat.base import clock
from konstat.base.tasks import Tasks, open_tasks
from konstat.errors import ConfigError, TransportError


async def forever() -> None:
    await asyncio.Event().wait()


async def failing(error: BaseException) -> None:
    raise error


async def answer() -> int:
    return 42


async def run(*works: Coroutine[Any, Any, Any]) -> None:
    """Run all of them in one block, each begun before the next is started."""
    async with open_tasks() as tasks:
        for work in works:
            tasks.start(work, name="one of several")
            await clock.sleep(0)
        await forever()


@pytest.fixture(autouse=True)
async def nothing_is_left() -> AsyncIterator[None]:
    def own() -> set[str]:
        return {t.get_name() for t in asyncio.all_tasks() if not t.get_name().startswith("Task-")}

    yield
    assert own() == set()


async def test_leaving_the_block_cancels_and_awaits_the_rest() -> None:
    ended: list[str] = []

    async def tidy() -> None:
        try:
            await forever()
        finally:
            await clock.sleep(0)
            ended.append("tidied")

    async with open_tasks() as tasks:
        task = tasks.start(tidy(), name="tidy")
        await clock.sleep(0)
    assert ended == ["tidied"]
    assert task.cancelled()
    assert task.get_name() == "tidy"


async def test_a_result_can_be_awaited() -> None:
    async with open_tasks() as tasks:
        assert await tasks.start(answer(), name="answer") == 42


async def test_one_failure_cancels_its_siblings_and_leaves_as_itself() -> None:
    mistake = ConfigError("broken")
    ended: list[str] = []

    async def sibling() -> None:
        try:
            await forever()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    with pytest.raises(ConfigError) as caught:
        await run(sibling(), failing(mistake))
    assert caught.value is mistake
    assert ended == ["cancelled"]


async def test_a_failure_keeps_its_cause() -> None:
    async def refused() -> None:
        try:
            raise OSError("connection refused")
        except OSError as error:
            raise TransportError("no answer") from error

    with pytest.raises(TransportError) as caught:
        await run(refused())
    assert isinstance(caught.value.__cause__, OSError)


async def test_a_failure_keeps_its_context() -> None:
    async def clumsy() -> None:
        try:
            raise KeyError("first")
        except KeyError:
            raise ValueError("while mending")  # noqa: B904 - that is what authors write

    with pytest.raises(ValueError) as caught:
        await run(clumsy())
    assert isinstance(caught.value.__context__, KeyError)
    assert not caught.value.__suppress_context__


async def test_several_failures_leave_as_a_group() -> None:
    async def fail_when_cancelled() -> None:
        try:
            await forever()
        finally:
            raise OSError("second")

    with pytest.raises(ExceptionGroup) as caught:
        await run(fail_when_cancelled(), failing(ValueError("first")))
    assert [type(e) for e in caught.value.exceptions] == [ValueError, OSError]


async def test_an_error_of_the_body_leaves_as_itself() -> None:
    async def owner() -> None:
        async with open_tasks() as tasks:
            tasks.start(forever(), name="task")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        await owner()
    assert caught.value.__context__ is None


async def test_a_group_that_the_body_raises_stays_a_group() -> None:
    group = ExceptionGroup("two", [ValueError(), OSError()])

    async def owner() -> None:
        async with open_tasks():
            raise group

    with pytest.raises(ExceptionGroup) as caught:
        await owner()
    assert caught.value is group


async def test_a_failure_that_the_body_saw_too_is_one_failure() -> None:
    async def owner() -> None:
        async with open_tasks() as tasks:
            task = tasks.start(failing(ConfigError("broken")), name="failing")
            try:
                await forever()
            finally:
                await task

    with pytest.raises(ConfigError):
        await owner()


async def test_cancellation_from_outside_cancels_all_and_goes_on() -> None:
    inner: list[asyncio.Task[None]] = []

    async def owner() -> None:
        async with open_tasks() as tasks:
            inner.append(tasks.start(forever(), name="inner"))
            await forever()

    outer = asyncio.ensure_future(owner())
    await clock.sleep(0)
    outer.cancel("stop")
    with pytest.raises(asyncio.CancelledError):
        await outer
    assert outer.cancelled()
    assert inner[0].cancelled()


async def test_a_timeout_around_the_block_is_a_timeout() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0), open_tasks() as tasks:
            await tasks.start(forever(), name="task")
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_the_owner_can_cancel_and_start_anew() -> None:
    async with open_tasks() as tasks:
        old = tasks.start(forever(), name="old")
        tasks.cancel()
        await asyncio.wait([old])
        assert old.cancelled()
        new = tasks.start(answer(), name="new")
        assert await new == 42


async def test_a_cancelled_task_is_no_failure() -> None:
    async with open_tasks() as tasks:
        task = tasks.start(forever(), name="task")
        task.cancel()
        await asyncio.wait([task])
        assert await tasks.start(answer(), name="next") == 42


async def test_what_is_started_while_the_block_is_left_does_not_hold_it() -> None:
    begun: list[str] = []

    async def late() -> None:
        begun.append("late")
        await forever()

    async def starter(tasks: Tasks) -> None:
        try:
            await forever()
        finally:
            tasks.start(late(), name="late")

    async with asyncio.timeout(5), open_tasks() as tasks:
        tasks.start(starter(tasks), name="starter")
        await clock.sleep(0)
    assert begun == []


async def test_work_that_a_failing_group_refuses_is_closed() -> None:
    refused: list[RuntimeError] = []

    async def starter(tasks: Tasks) -> None:
        try:
            await forever()
        finally:
            try:
                tasks.start(forever(), name="late")
            except RuntimeError as error:
                refused.append(error)

    async def owner() -> None:
        async with open_tasks() as tasks:
            tasks.start(starter(tasks), name="starter")
            await clock.sleep(0)
            tasks.start(failing(ConfigError("broken")), name="failing")
            await forever()

    # Warnings are errors here: a coroutine that is never awaited would be one.
    with pytest.raises(ConfigError):
        await owner()
    assert len(refused) == 1


async def test_work_after_the_block_is_refused() -> None:
    async with open_tasks() as tasks:
        pass
    with pytest.raises(RuntimeError):
        tasks.start(forever(), name="too late")
