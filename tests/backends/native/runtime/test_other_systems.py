"""What stands in on other systems, run on this one: no pool, no clock, objects of macOS."""

import pytest

from phintys.backends.native.assembler.target import Target

pytestmark = pytest.mark.usefixtures("native")

PROGRAM = """
    import sys
    import threading
    from types import SimpleNamespace

    import numpy as np
    import phintys, phintys.tensor as pt
    from phintys.backends.native.assembler import llvm_library, system
    from phintys.backends.native.runtime.support import support

    phintys.config.cache_dir = sys.argv[1]
    {force}

    x, a, step = pt.dvector("x"), pt.dmatrix("a"), pt.dscalar("step")
    total = phintys.shared(np.zeros(2))
    f = phintys.function(
        [x, a, step],
        [pt.exp(x).sum(), pt.sin(x) * step, pt.cumsum(x), pt.tanh(a @ a), pt.sort(a, axis=1)],
        updates=[(total, total + step)],
        mode="native",
    )
    rng = np.random.default_rng(0)
    values, matrix = rng.normal(size=400_000), rng.normal(size=(300, 300)) / 20
    expected = [
        *(np.exp(values).sum(), np.sin(values) * 2, np.cumsum(values), np.tanh(matrix @ matrix)),
        np.sort(matrix, axis=1),
    ]

    def check():
        for got, wanted in zip(f(values, matrix, 2.0), expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)

    check()
    f.vm.improve()
    others = [threading.Thread(target=check) for _ in range(2)]
    for one in others:
        one.start()
    check()
    for one in others:
        one.join()
    np.testing.assert_array_equal(total.get_value(), [8.0, 8.0])
    g = phintys.function([x], pt.log(x) + pt.constant([1.0]), profile=True)
    np.testing.assert_allclose(g([1.0, 2.0]), np.log([1.0, 2.0]) + 1)
    print(support().workers)
    print(f.explain().splitlines()[-1])
"""
WINDOWS = 'system.sys = SimpleNamespace(platform="win32")'


def test_without_a_pool_and_a_clock_one_thread_computes(run_python, tmp_path):
    printed = run_python(PROGRAM.format(force=WINDOWS), tmp_path).splitlines()
    assert printed[0] == "0"
    assert printed[-1] == "one thread computes what threads share: this system has no pthreads"


def test_objects_of_macos_run_in_memory(run_python, tmp_path):
    architecture = Target.host().triple.partition("-")[0]
    triple = f"{'arm64' if architecture == 'aarch64' else architecture}-apple-macosx11.0.0"
    force = f'llvm_library.llvm().triple = "{triple}"'
    printed = run_python(PROGRAM.format(force=force), tmp_path).splitlines()
    assert "this system has no" not in printed[-1]
    (tmp_path / "objects").mkdir(exist_ok=True)
    kept = [path.read_bytes() for path in (tmp_path / "objects").iterdir()]
    assert any(b"\xcf\xfa\xed\xfe" in one for one in kept)
    assert not any(b"\x7fELF" in one for one in kept)
