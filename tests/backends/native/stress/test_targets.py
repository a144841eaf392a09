"""Code for other CPUs than this one: run where it can run, and compiled where it cannot."""

import pytest

from phintys._base.errors import ConfigError
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.runtime.engine import check_runs_here


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "part"),
    [("x86-64", 4), ("x86-64-v2", 0), ("x86-64-v3", 1), ("x86-64-v4", 2), ("aarch64", 3)],
)
def test_another_cpu(run, name, part, repeats):
    if name != "aarch64":
        try:
            check_runs_here(Target.named(name))
        except ConfigError as error:
            pytest.skip(str(error))
    # An older SciPy's logm prints how accurate it is.
    parts = repeats(64, 16)
    records, graphs = map(int, run("targets.py", name, part, parts).split()[-2:])
    assert records > 320 // parts
    assert graphs == 96 // parts
