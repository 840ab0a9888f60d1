"""A recorder of events in front of a server in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from event_server import EventServer
from stepped_clock import SteppedClock

from konstat.base import clock as base_clock
from konstat.client import Client
from konstat.services.events import Recorder


@pytest.fixture
async def clock() -> AsyncIterator[SteppedClock]:
    stepped = SteppedClock()
    with base_clock.use_clock(stepped):
        yield stepped


@pytest.fixture
def server() -> EventServer:
    return EventServer()


@pytest.fixture
def recorder(server: EventServer) -> Recorder:
    return Recorder(Client(server), controller="webapps.demo.example.com", instance="host")
