"""``map``: a function over a list of inputs, each in a task of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from phintys._base.config import thread_limit, usable_cores
from phintys._base.errors import ArgumentError
from phintys._base.progress import Progress
from phintys.graph.shared_variable import SharedVariable
from phintys.parallel.places import InTurn, OnDask, OnJoblib, OnThreads, TaskPlace
from phintys.parallel.portable import Portable
from phintys.parallel.tasks import Outcome, Task, flags_for_others
from phintys.random.bits.states import WORDS, folded, random_type, state


def map(
    f: Callable[..., Any],
    inputs: Iterable[Any],
    client: Any = None,
    *,
    rng: Any = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> list[Any]:
    """Return the results of a function for each of many inputs; the calls are made in parallel.

    Results are the same wherever the calls are made, bit for bit. Each task starts from the values
    that shared variables have now, and its changes of them end with it. Generators that the
    function holds, such as those of a :class:`~phintys.random.RandomStream`, are those that
    ``fold_in`` gives for the number of the task, so tasks draw different numbers, and another map
    from the same state draws the same ones.

    Parameters
    ----------
    f
        A compiled function, or another callable, which may hold compiled functions.
    inputs
        The arguments of each call: a tuple of several, or a single one of any other kind.
    client
        Where to run. ``None``: in this process, on threads. A Dask ``Client``. A backend of joblib:
        its name, such as ``"loky"`` for processes of this machine, an object, or a ``Parallel``.
    rng
        A seed, a state, or a shared generator: each call gets, as its last argument, the state that
        ``fold_in`` gives for the number of the task.
    workers
        Number of threads, or of joblib's workers; by default that of the cores. Dask has its own.
    progress
        Whether a line says how many tasks are done: ``True``, ``False``, or ``None`` for where a
        person waits, as ``config.progress`` says.

    Returns
    -------
    list
        The results, in the order of the inputs.

    Raises
    ------
    ArgumentError
        An argument of ``map`` is wrong, or the function cannot be copied.
    TaskError
        A task has no result: its workers die, or its error cannot be pickled. Other errors of a
        task are raised as they are, with a note that shows the task and its inputs. If several
        tasks fail, it is the error of the first of them.

    Examples
    --------
    >>> import phintys
    >>> import phintys.tensor as pt
    >>> from phintys import parallel, random
    >>> r, scale = random.rng("r"), pt.dscalar("scale")
    >>> _, draw = r.normal(0.0, scale)
    >>> f = phintys.function([scale, r], draw)
    >>> draws = parallel.map(f, [1.0, 1.0, 1.0], rng=17)
    >>> len(set(map(float, draws))), draws == parallel.map(f, [1.0, 1.0, 1.0], rng=17, workers=1)
    (3, True)
    """
    if not callable(f):
        msg = f"parallel.map: f must be a compiled function or another callable, got {f!r}."
        raise ArgumentError(msg)
    _check_workers(workers)
    calls = _arguments(inputs, rng)
    if not calls:
        return []
    place = _place(f, calls, client, workers)
    with Progress("", len(calls), "tasks", shown=progress) as tell:
        return _collected(place, calls, tell)


def _check_workers(workers: int | None) -> None:
    if workers is None:
        return
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        msg = "parallel.map: workers must be a positive int, or None (all cores), got {workers!r}."
        raise ArgumentError(msg)


def _arguments(inputs: Iterable[Any], rng: Any) -> list[tuple[Any, ...]]:
    """Return the arguments of each call, the state of its generator included."""
    try:
        calls = [one if isinstance(one, tuple) else (one,) for one in inputs]
    except TypeError as error:
        msg = f"parallel.map: inputs must be a list of the arguments of each call, got {inputs!r}."
        raise ArgumentError(msg) from error
    if rng is None:
        return calls
    start = _state_of(rng)
    return [(*call, folded(start, number)) for number, call in enumerate(calls)]


def _state_of(rng: Any) -> Any:
    if isinstance(rng, SharedVariable):
        if rng.type != random_type:
            msg = f"parallel.map: rng must be a generator or a seed, got {rng} of {rng.type}."
            raise ArgumentError(msg)
        return rng.get_value()
    if isinstance(rng, np.ndarray) and rng.dtype == np.uint64 and rng.shape == (WORDS,):
        return rng
    return state(rng)


def _place(
    f: Callable[..., Any], calls: Sequence[tuple[Any, ...]], client: Any, workers: int | None
) -> TaskPlace:
    if client is None:
        return _here(f, calls, min(workers or usable_cores(), len(calls)))
    packages = {base.__module__.partition(".")[0] for base in type(client).__mro__}
    flags = flags_for_others()
    tasks = [Task(number, call, flags) for number, call in enumerate(calls)]
    if "distributed" in packages and hasattr(client, "submit"):
        if workers is not None:
            msg = "parallel.map: workers is for threads and joblib; a Dask client has its own."
            raise ArgumentError(msg)
        return OnDask(Portable(f, elsewhere=True), tasks, client)
    if isinstance(client, str) or "joblib" in packages:
        return OnJoblib(Portable(f, elsewhere=True), tasks, client, workers)
    msg = (
        "parallel.map: client must be None for threads of this process, a dask.distributed.Client "
        f"(of a cluster: Client(cluster)), or a backend of joblib, such as 'loky'; got {client!r}."
    )
    raise ArgumentError(msg)


def _here(f: Callable[..., Any], calls: Sequence[tuple[Any, ...]], workers: int) -> TaskPlace:
    portable = Portable(f, elsewhere=False)
    # The tasks share the cores that calls of one task alone would use.
    flags = {"num_threads": max(1, thread_limit() // workers)} if workers > 1 else {}
    tasks = [Task(number, call, flags) for number, call in enumerate(calls)]
    return InTurn(portable, tasks) if workers == 1 else OnThreads(portable, tasks, workers)


def _collected(place: TaskPlace, calls: Sequence[Any], progress: Progress) -> list[Any]:
    """Return the results in order; raise the error of the first task that fails.

    After an error, only the tasks before it are waited for: one of them may fail as well, and in a
    single process its error would have come first.
    """
    outcomes: dict[int, Outcome] = {}
    failed = len(calls)
    waiting = set(range(len(calls)))
    try:
        for outcome in place:
            outcomes[outcome.number] = outcome
            waiting.discard(outcome.number)
            progress.advance()
            if outcome.error is not None and outcome.number < failed:
                failed = outcome.number
                place.drop_after(failed)
                waiting = {number for number in waiting if number < failed}
            if not waiting:
                break
    finally:
        place.close()
    if failed < len(calls):
        error = outcomes[failed].error
        assert error is not None
        raise error
    return [outcomes[number].value for number in range(len(calls))]
