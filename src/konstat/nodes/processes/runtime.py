"""`ProcessRuntime`: containers as processes of this machine where a mapping says so.

All other containers are pretended. A kubelet's memory says which runs there should be
(`ProcessRuntime.obey`); lives say what became of them (`ProcessRuntime.report`). Everything lies in
one folder and runs under keepers, so nothing is left when the actor ends, also by SIGKILL.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from ipaddress import IPv4Network
from pathlib import Path
from socket import gethostname
from typing import Final

from konstat.base import clock, limits
from konstat.base.tasks import Tasks, open_tasks
from konstat.errors import UserError
from konstat.kinds import Service
from konstat.nodes.acting import LogQuery
from konstat.nodes.addresses import AddressPool
from konstat.nodes.configuration import Configuration, Contents
from konstat.nodes.memory import PodMemory
from konstat.nodes.podspec import PlayedContainer, PlayedPod
from konstat.nodes.pretended import PretendedRuntime
from konstat.nodes.processes import network
from konstat.nodes.processes.fields import PodFacts
from konstat.nodes.processes.hosts import hosts_text, reachable
from konstat.nodes.processes.life import Life, LifeShape
from konstat.nodes.processes.logs import RunLog
from konstat.nodes.processes.mapping import COMMAND, ProcessCommand, ProcessMap
from konstat.nodes.processes.plan import Places, Plan, plan, volume_files
from konstat.nodes.processes.problems import PlanProblem
from konstat.nodes.processes.spawn import keep_folder, passed_on
from konstat.nodes.processes.unplayed import unplayed
from konstat.nodes.processes.volumes import write_volume
from konstat.nodes.runtime import ContainerRuntime, Ending, Problem, Report, Run, Warning

log = logging.getLogger("konstat.nodes")

_LOST: Final = 137
_RUNS_KEPT: Final = 2  # the present one and the one before, whose log can be asked for

Heard = Callable[[PlayedPod, str, bytes], None]
"""Gets each line that a container says: pod, container, text."""


class _PodProcesses:
    """What is kept of one pod."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lives: dict[tuple[str, int], Life] = {}

    def last_attempts(self, container: str) -> list[int]:
        """The attempts of a container that are known, newest first."""
        return sorted((attempt for name, attempt in self.lives if name == container), reverse=True)


class ProcessRuntime:
    """Plays mapped containers by processes, others by ``others`` (pretended ones).

    ``processes`` are the mappings; ``allow_commands`` lets pods name commands themselves, by
    annotation, exec probe or hook. ``pod_network`` is where pods with processes get their
    addresses (see `konstat.nodes.processes.network`). ``heard`` gets every line that is said.
    Raises UserError for mappings that contradict each other and for a network that does not
    answer. For one `konstat.nodes.NodeActor` at a time.
    """

    name = "konstat-process"

    def __init__(
        self,
        processes: Iterable[ProcessCommand] = (),
        *,
        allow_commands: bool = False,
        pod_network: IPv4Network | None = None,
        others: ContainerRuntime | None = None,
        heard: Heard | None = None,
    ) -> None:
        self.map = ProcessMap(processes, allow_commands=allow_commands)
        self.network = network.choose(pod_network)
        self._pool = network.pool_of(self.network)
        self._others: ContainerRuntime = others or PretendedRuntime()
        self._heard = heard
        self._pods: dict[str, _PodProcesses] = {}
        self._tasks: Tasks | None = None
        self._root = Path()
        self._names: tuple[Sequence[Service], Sequence[PlayedPod]] = (), ()
        self._changed: Callable[[str], None] = _ignore
        self._tell: Callable[[str, Warning], None] = _ignore

    # --- what a kubelet asks (see ContainerRuntime) -------------------------------------------

    def image_problem(self, image: str, *, pull_policy: str) -> Problem | None:
        """A mapped image is always there."""
        if self.map.of_image(image) is not None:
            return None
        return self._others.image_problem(image, pull_policy=pull_policy)

    def report(
        self, pod: PlayedPod, container: PlayedContainer, run: Run, *, now: datetime
    ) -> Report:
        if not self.map.is_process(pod, container):
            return self._others.report(pod, container, run, now=now)
        known = self._pods.get(pod.uid)
        life = known.lives.get((container.name, run.attempt)) if known else None
        if life is not None:
            return life.report()
        if run.started_at >= now:
            return Report(started=False, ready=False)  # begun in this step, so not yet obeyed
        ending = Ending(
            exit_code=_LOST,
            reason="ContainerStatusUnknown",
            message="the process ended with the node actor that had started it",
            finished_at=now,
        )
        return Report(started=False, ready=False, ending=ending)

    def misunderstood(self, pod: PlayedPod) -> Sequence[Warning]:
        told = [*self._others.misunderstood(pod), *self.map.refused(pod)]
        for container in self._processes_of(pod):
            told += unplayed(container, commands_allowed=self.map.allow_commands)
        return told

    # --- what it does (see ActingRuntime) -----------------------------------------------------

    @asynccontextmanager
    async def opened(
        self, *, changed: Callable[[str], None], tell: Callable[[str, Warning], None]
    ) -> AsyncIterator[None]:
        assert self._tasks is None, "one actor at a time"
        self._changed, self._tell = changed, tell
        self._root = _new_folder()
        async with keep_folder(self._root):
            try:
                async with open_tasks() as tasks:
                    self._tasks = tasks
                    try:
                        yield
                    finally:
                        await self._end_all()
            finally:
                self._tasks, self._changed, self._tell = None, _ignore, _ignore
                for known in self._pods.values():
                    for life in known.lives.values():
                        life.log.close()  # of one that was cancelled before it began
                self._pods.clear()

    def plays(self, pod: PlayedPod) -> bool:
        return any(True for _ in self._processes_of(pod))

    def address_pool(self) -> AddressPool:
        return self._pool

    def lack(self, pod: PlayedPod, memory: PodMemory, contents: Contents) -> Configuration:
        facts = _facts(memory)
        try:
            for _ in volume_files(pod, contents, facts):
                pass
        except PlanProblem as problem:
            return Configuration(volume=str(problem))
        lacks: dict[str, str] = {}
        for container in self._processes_of(pod):
            try:
                self._plan(pod, container, contents, facts, Path("lack"))
            except PlanProblem as problem:
                lacks[container.name] = str(problem)
        if not lacks and self._running() >= limits.PROCESSES:
            text = (
                f"this node actor runs {limits.PROCESSES} processes, and more are not allowed:"
                " delete some pods"
            )
            lacks = {container.name: text for container in self._processes_of(pod)}
        return Configuration(containers=lacks)

    def obey(
        self, pod: PlayedPod, before: PodMemory, after: PodMemory, contents: Contents | None
    ) -> None:
        for container in self._processes_of(pod):
            known = after.containers.get(container.name)
            if known is None or known.run is None or known.run.ending is not None:
                continue
            run, old = known.run, before.containers.get(container.name)
            if old is None or old.run is None or old.run.attempt != run.attempt:
                assert contents is not None, "a run begins only after its sources were looked up"
                try:
                    self._begin(pod, container, run, contents, _facts(after))
                except OSError as error:
                    raise UserError(
                        f"container {container.name} of pod {pod.name} gets no folder: {error}"
                    ) from error
            stopped = self._pods.get(pod.uid) if run.stop_asked_at is not None else None
            if stopped is not None and (container.name, run.attempt) in stopped.lives:
                life = stopped.lives[container.name, run.attempt]
                life.stop(grace_seconds=_grace_left(pod, run))

    def make_known(self, services: Sequence[Service], pods: Sequence[PlayedPod]) -> None:
        self._names = services, tuple(reachable(pods, self.network))
        if self._tasks is None or not self._root.exists():
            return
        for file in self._root.glob("hosts/*"):
            try:
                self._write_names(file.name)
            except OSError as error:
                log.warning("names of namespace %s stay as they were: %s", file.name, error)

    def forget(self, uid: str) -> None:
        known = self._pods.pop(uid, None)
        if known is not None and self._tasks is not None:
            self._tasks.start(self._clear(known), name=f"clearing up after pod {uid}")

    async def logs(self, pod: PlayedPod, query: LogQuery) -> AsyncIterator[bytes]:
        try:
            async for piece in self._log_of(pod, query).read(query):
                yield piece
        except FileNotFoundError as error:
            raise UserError(f"the log of pod {pod.namespace}/{pod.name} is gone") from error

    # --- parts --------------------------------------------------------------------------------

    def _processes_of(self, pod: PlayedPod) -> Iterator[PlayedContainer]:
        return (c for c in pod.spec.all_containers if self.map.is_process(pod, c))

    def _running(self) -> int:
        lives = (life for known in self._pods.values() for life in known.lives.values())
        return sum(life.running for life in lives)

    def _begin(
        self,
        pod: PlayedPod,
        container: PlayedContainer,
        run: Run,
        contents: Contents,
        facts: PodFacts,
    ) -> None:
        assert self._tasks is not None, "the runtime is opened before pods are played"
        known = self._pods.setdefault(pod.uid, _PodProcesses(self._root / pod.uid))
        place = known.folder / "runs" / container.name / str(run.attempt)
        places = self._places(pod, known.folder, place)
        self._write_names(pod.namespace)
        for folder in (place, places.work, places.temporary):
            folder.mkdir(parents=True, exist_ok=True)
        heard = self._heard
        life = Life(
            LifeShape(
                container=container,
                address=facts.address,
                work=places.work,
                termination_log=places.termination_log,
                grace_seconds=float(pod.spec.termination_grace_period_seconds),
                commands_allowed=self.map.allow_commands,
            ),
            log=RunLog(
                place / "log",
                heard=heard and (lambda text: heard(pod, container.name, text)),
            ),
            changed=lambda: self._changed(pod.uid),
            tell=lambda warning: self._tell(pod.uid, warning),
        )
        known.lives[container.name, run.attempt] = life
        self._drop_old(known, container.name)
        try:
            for volume, files in volume_files(pod, contents, facts):
                keep = volume.empty_dir is not None
                write_volume(places.volumes, volume.name, files, keep=keep)
            planned = self._plan(pod, container, contents, facts, place, folder=known.folder)
        except (OSError, PlanProblem) as error:
            life.refuse(str(error))
            return
        life.start(planned, self._tasks)

    def _plan(
        self,
        pod: PlayedPod,
        container: PlayedContainer,
        contents: Contents,
        facts: PodFacts,
        place: Path,
        *,
        folder: Path = Path(),
    ) -> Plan:
        try:
            command = self.map.of_container(pod, container)
        except ValueError as error:
            raise PlanProblem(
                f"annotation {COMMAND}{container.name} is no command line: {error}"
            ) from error
        assert command is not None, "only containers with a command are planned"
        return plan(
            pod,
            container,
            command,
            contents,
            facts=facts,
            places=self._places(pod, folder, place),
            base=passed_on(),
        )

    def _places(self, pod: PlayedPod, folder: Path, run: Path) -> Places:
        return Places(
            volumes=folder / "volumes",
            work=folder / "work",
            temporary=folder / "tmp",
            termination_log=run / "termination-log",
            hosts=self._hosts_file(pod.namespace),
        )

    def _hosts_file(self, namespace: str) -> Path:
        return self._root / "hosts" / namespace

    def _write_names(self, namespace: str) -> None:
        """Raises OSError."""
        services, pods = self._names
        text = hosts_text(namespace, machine=gethostname(), services=services, pods=pods)
        file = self._hosts_file(namespace)
        if file.exists() and file.read_text() == text:
            return
        file.parent.mkdir(exist_ok=True)
        fresh = file.with_name(f"{namespace}.new")
        fresh.write_text(text)
        fresh.replace(file)

    def _drop_old(self, known: _PodProcesses, container: str) -> None:
        for attempt in known.last_attempts(container)[_RUNS_KEPT:]:
            del known.lives[container, attempt]
            folder = known.folder / "runs" / container / str(attempt)
            shutil.rmtree(folder, ignore_errors=True)

    async def _clear(self, known: _PodProcesses) -> None:
        await _end(known.lives.values(), grace_seconds=0)
        for _ in range(limits.PROCESS_FOLDER_TRIES):
            shutil.rmtree(known.folder, ignore_errors=True)
            if not known.folder.exists():
                return

    async def _end_all(self) -> None:
        """Ask every process to end, and kill what has not after a while."""
        lives = [life for known in self._pods.values() for life in known.lives.values()]
        await _end(lives, grace_seconds=limits.PROCESS_END_SECONDS)

    def _log_of(self, pod: PlayedPod, query: LogQuery) -> RunLog:
        container = self._container(pod, query.container)
        known = self._pods.get(pod.uid)
        attempts = known.last_attempts(container.name) if known else []
        wanted = attempts[1:2] if query.previous else attempts[:1]
        if known is None or not wanted:
            word = "previous terminated container" if query.previous else "container"
            raise UserError(
                f'{word} "{container.name}" in pod "{pod.name}" not found: it has not run here'
            )
        return known.lives[container.name, wanted[0]].log

    def _container(self, pod: PlayedPod, name: str) -> PlayedContainer:
        names = [container.name for container in pod.spec.all_containers]
        if not name and len(names) > 1:
            raise UserError(
                f"a container name must be specified for pod {pod.name},"
                f" choose one of: {', '.join(names)}"
            )
        for container in pod.spec.all_containers:
            if container.name in (name, name or names[0]):
                if not self.map.is_process(pod, container):
                    raise UserError(
                        f"container {container.name} of pod {pod.name} is pretended, so it says"
                        " nothing: map its image to a process"
                    )
                return container
        raise UserError(f"container {name} is not valid for pod {pod.name}")


def _ignore(*_: object) -> None:
    """What is told while no actor listens: nobody needs it."""


async def _end(lives: Iterable[Life], *, grace_seconds: float) -> None:
    """Ask all to end and wait for them."""
    running = [life for life in lives if life.running]
    for life in running:
        life.stop(grace_seconds=grace_seconds)
    ends = [life.task for life in running if life.task is not None]
    if ends:
        await asyncio.wait(ends)


def _facts(memory: PodMemory) -> PodFacts:
    return PodFacts(address=memory.address, host_address=memory.host_address)


def _new_folder() -> Path:
    """Only the actor's user can look into it: Secrets are written there."""
    return Path(tempfile.mkdtemp(prefix="konstat-nodes-")).resolve()


def _grace_left(pod: PlayedPod, run: Run) -> float:
    """What is left of a run's grace; a deletion that was asked for again may shorten it."""
    until = pod.metadata.deletion_timestamp
    if until is None:
        return run.grace_seconds
    left = (clock.parse_timestamp(until) - clock.now()).total_seconds()
    return max(0.0, min(run.grace_seconds, left))
