"""The manager's HTTP endpoints: /healthz, /readyz and /metrics."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from aiohttp import web

from konstat.base import limits
from konstat.errors import ConfigError

Check = Callable[[], Mapping[str, str]]


def _answer(check: Check) -> web.Response:
    problems = check()
    text = "".join(f"{name}: {problem}\n" for name, problem in sorted(problems.items())) or "ok\n"
    return web.Response(text=text, status=503 if problems else 200)


def _application(*, alive: Check, ready: Check, metrics: Callable[[], bytes]) -> web.Application:
    async def healthz(_: web.Request) -> web.Response:
        return _answer(alive)

    async def readyz(_: web.Request) -> web.Response:
        return _answer(ready)

    async def metrics_page(_: web.Request) -> web.Response:
        return web.Response(
            body=metrics(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        )

    application = web.Application()
    application.router.add_get("/healthz", healthz)
    application.router.add_get("/readyz", readyz)
    application.router.add_get("/metrics", metrics_page)
    return application


@asynccontextmanager
async def serve(
    host: str, port: int, *, alive: Check, ready: Check, metrics: Callable[[], bytes]
) -> AsyncIterator[tuple[str, int]]:
    """Serve the three endpoints for the length of a block; gives the bound host and port.

    ``alive`` and ``ready`` return the problems by name (empty: 200, else 503). Port 0 lets the
    system choose. Raises ConfigError when the address cannot be bound.
    """
    application = _application(alive=alive, ready=ready, metrics=metrics)
    runner = web.AppRunner(
        application, access_log=None, shutdown_timeout=limits.HEALTH_STOP_SECONDS
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except (OSError, OverflowError) as error:  # the latter for a port above 65535
            problem = getattr(error, "strerror", None) or error
            raise ConfigError(
                f"failed to serve health and metrics on {host}:{port}: {problem};"
                " give another address, with port 0 to let the system choose"
            ) from error
        bound = runner.addresses[0]
        yield str(bound[0]), int(bound[1])
    finally:
        await runner.cleanup()
