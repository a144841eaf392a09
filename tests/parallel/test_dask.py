"""Workers of Dask and processes of joblib: equal results, and workers that die."""

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys, tempfile
from pathlib import Path

import numpy as np
import phintys, phintys.tensor as pt
from phintys import parallel, random

theta, r = pt.dvector("theta"), random.rng("r")
logp = -0.5 * pt.sqr(theta).sum() - pt.log1p(pt.exp(theta)).sum()
slope = phintys.grad(logp, theta)
after, noise = r.normal(size=theta.shape)
total = phintys.shared(0.0, name="total")
move = phintys.function(
    [theta, r], [theta + 0.1 * slope + noise, after, total], updates={total: total + logp}
)


class Chain:
    "Defined by a script: other processes have no such name."

    def __init__(self, steps, fatal):
        self.steps, self.move, self.fatal = steps, move, Path(fatal)

    def __call__(self, start, dies, state):
        if dies and not self.fatal.exists():
            self.fatal.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        draws = []
        for _ in range(self.steps):
            start, state, seen = self.move(start, state)
            draws.append([*start, float(seen)])
        return np.array(draws)


def fails(number):
    if number == 1:
        raise ZeroDivisionError("the reason")
    return number


def check(client, folder, **options):
    fatal = os.path.join(folder, "died")
    Path(fatal).touch()
    inputs = [(np.full(3, float(n)), n == 1) for n in range(5)]
    expected = parallel.map(Chain(20, fatal), inputs, rng=17)
    os.remove(fatal)
    found = parallel.map(Chain(20, fatal), inputs, client, rng=17, **options)
    assert os.path.exists(fatal)  # a worker was killed
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
    assert total.get_value() == 0.0
    try:
        parallel.map(fails, range(3), client, **options)
    except ZeroDivisionError as error:
        assert "task 1" in error.__notes__[0] and "Argument 0: 1" in error.__notes__[0]
        assert 'raise ZeroDivisionError("the reason")' in error.__notes__[0]
    else:
        raise SystemExit("no error")


def always_dies(number):
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[1] == "loky":
            check("loky", folder, workers=2)
        else:
            from distributed import Client, LocalCluster

            with (
                LocalCluster(
                    n_workers=2,
                    threads_per_worker=1,
                    dashboard_address=None,
                    local_directory=folder,
                    silence_logs=50,
                ) as cluster,
                Client(cluster) as client,
            ):
                check(client, folder)
                if sys.argv[1] == "both":
                    cluster.scheduler.allowed_failures = 0
                    try:
                        parallel.map(always_dies, [1], client)
                    except parallel.TaskError as error:
                        assert "Task 0 " in str(error) and "KilledWorker" in str(error), error
                    else:
                        raise SystemExit("no error")
    print("done")
"""


def run(tmp_path, case):
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(script), case],
        capture_output=True,
        check=False,
        text=True,
        timeout=240,
    )
    assert done.stdout.endswith("done\n"), done.stderr[-3000:]


def test_dask_gives_what_threads_give_though_a_worker_dies(tmp_path):
    pytest.importorskip("distributed", reason="needs the extra 'dask'")
    run(tmp_path, "dask")


@pytest.mark.stress
def test_a_task_that_kills_each_worker_is_an_error(tmp_path):
    pytest.importorskip("distributed", reason="needs the extra 'dask'")
    run(tmp_path, "both")


@pytest.mark.stress
def test_processes_of_joblib_give_what_threads_give_though_one_dies(tmp_path):
    pytest.importorskip("joblib", reason="needs the extra 'joblib'")
    run(tmp_path, "loky")
