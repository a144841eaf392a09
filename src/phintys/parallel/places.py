"""Where tasks run: here, on threads, on Dask's workers, on joblib's.

A place is iterated over for outcomes, in the order in which they come. After ``drop_after(number)``
the tasks with larger numbers need not be run.
"""

from __future__ import annotations

import contextvars
from collections.abc import Generator, Iterator, Sequence
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol
from uuid import uuid4
from warnings import catch_warnings, simplefilter

from phintys._base.errors import ArgumentError, TaskError
from phintys.parallel.portable import Portable
from phintys.parallel.tasks import Outcome, Task, run, run_elsewhere

_MOST_DEATHS = 3
"""How often a worker may die without a single result before the tasks are taken for the cause."""


class TaskPlace(Protocol):
    """Where tasks run."""

    def __iter__(self) -> Iterator[Outcome]: ...

    def drop_after(self, number: int) -> None:
        """Do not begin tasks with larger numbers, if that can be prevented."""

    def close(self) -> None:
        """Drop all tasks that have not begun."""


class InTurn:
    """The calling thread, one task after the other."""

    def __init__(self, portable: Portable, tasks: Sequence[Task]) -> None:
        self._portable = portable
        self._tasks = tasks
        self._last = len(tasks)

    def __iter__(self) -> Iterator[Outcome]:
        for task in self._tasks:
            if task.number > self._last:
                return
            yield run(self._portable, task)

    def drop_after(self, number: int) -> None:
        self._last = number

    def close(self) -> None:
        self._last = -1


class OnThreads:
    """Threads of this process: native code runs without Python's lock."""

    def __init__(self, portable: Portable, tasks: Sequence[Task], workers: int) -> None:
        self._pool = futures.ThreadPoolExecutor(workers, "phintys.parallel")
        # Options that are set in the caller's context hold in the tasks as well.
        self._futures = [
            self._pool.submit(contextvars.copy_context().run, run, portable, task) for task in tasks
        ]

    def __iter__(self) -> Iterator[Outcome]:
        for future in futures.as_completed(self._futures):
            if not future.cancelled():
                yield future.result()

    def drop_after(self, number: int) -> None:
        for future in self._futures[number + 1 :]:
            future.cancel()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


class OnDask:
    """Workers of Dask. If one dies, the scheduler runs its tasks again on another."""

    def __init__(self, portable: Portable, tasks: Sequence[Task], client: Any) -> None:
        if client.asynchronous:
            msg = (
                "parallel.map waits for its results, so the client must not be asynchronous: use "
                "Client(address) without asynchronous=True, or run it in a thread."
            )
            raise ArgumentError(msg)
        name = f"phintys-map-{uuid4().hex}"
        # A task, not scattered data: these are lost with the worker that has them.
        function = client.submit(_itself, portable, key=f"{name}-function", pure=False)
        self._tasks = {f"{name}-{task.number}": task for task in tasks}
        self._futures = [
            client.submit(run_elsewhere, function, task, key=key, pure=False)
            for key, task in self._tasks.items()
        ]
        self._client = client

    def __iter__(self) -> Iterator[Outcome]:
        from distributed import as_completed

        for future in as_completed(self._futures):
            number = self._tasks[future.key].number
            if future.cancelled():
                continue
            error = future.exception()
            yield future.result() if error is None else Outcome(number, error=_lost(number, error))
            future.release()

    def drop_after(self, number: int) -> None:
        self._client.cancel(self._futures[number + 1 :])

    def close(self) -> None:
        self._client.cancel([one for one in self._futures if not one.done()])


class OnJoblib:
    """A backend of joblib."""

    def __init__(
        self, portable: Portable, tasks: Sequence[Task], backend: Any, workers: int | None
    ) -> None:
        from joblib import Parallel

        self._portable = portable
        self._waiting = {task.number: task for task in tasks}
        self._outcomes: Any = iter(())
        if isinstance(backend, Parallel):
            self._parallel = backend
        else:
            try:
                self._parallel = Parallel(
                    n_jobs=-1 if workers is None else workers,
                    backend=backend,
                    return_as="generator_unordered",
                )
            except ValueError as error:
                msg = f"parallel.map: client={backend!r} is not a backend of joblib: {error}"
                raise ArgumentError(msg) from error

    def __iter__(self) -> Iterator[Outcome]:
        deaths = 0
        while self._waiting:
            before = len(self._waiting)
            try:
                yield from self._once()
                return
            except BrokenProcessPool as error:
                deaths = deaths + 1 if len(self._waiting) == before else 0
                if deaths == _MOST_DEATHS:
                    first = min(self._waiting)
                    yield Outcome(first, error=_lost(first, error))
                    return

    def _once(self) -> Iterator[Outcome]:
        from joblib import delayed

        call = delayed(run_elsewhere)
        self._outcomes = iter(
            self._parallel(call(self._portable, task) for task in list(self._waiting.values()))
        )
        for outcome in self._outcomes:
            self._waiting.pop(outcome.number, None)
            yield outcome

    def drop_after(self, number: int) -> None:
        self._waiting = {at: task for at, task in self._waiting.items() if at <= number}

    def close(self) -> None:
        self._waiting = {}
        if isinstance(self._outcomes, Generator):
            with catch_warnings():
                # joblib warns of results that nobody wants after an error.
                simplefilter("ignore", UserWarning)
                self._outcomes.close()


def _itself(portable: Portable) -> Portable:
    return portable


def _lost(number: int, error: BaseException) -> TaskError:
    """Return the error of a task without an outcome, given what the place says."""
    found = TaskError(
        f"Task {number} of phintys.parallel.map has no result: {type(error).__name__}: {error}. "
        "Each worker that ran it may have run out of memory or been killed, by this task or by one "
        "beside it; or the result cannot be pickled."
    )
    found.__cause__ = error
    return found
