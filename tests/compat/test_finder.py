"""Importing Phintys under old names."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.compat import PACKAGES, install, uninstall
from phintys.compat.names import MISSING, MISSING_NAMES
from phintys.compat.script import run_module, run_script


@pytest.fixture(params=list(PACKAGES))
def package(request):
    install(request.param)
    yield request.param
    uninstall(request.param)


def test_every_name_of_every_module_is_there(package):
    for module in PACKAGES[package]:
        name = f"{package}.{module}" if module else package
        __import__(name)
        old = sys.modules[name]
        for attribute in old.__all__:
            found = getattr(old, attribute)
            assert found is not None or attribute == "newaxis", f"{name}.{attribute}"


def test_installing_twice_changes_nothing(package):
    before = list(sys.meta_path)
    install(package)
    assert sys.meta_path == before


def test_uninstall_forgets():
    install("theano")
    import theano.tensor

    assert theano.tensor.dscalar is pt.dscalar
    uninstall("theano")
    assert not any(name.partition(".")[0] == "theano" for name in sys.modules)
    with pytest.raises(ModuleNotFoundError):
        __import__("theano")


def test_unknown_package():
    with pytest.raises(phintys.PhintysError, match="theano, aesara, pytensor"):
        install("tensorflow")


def test_a_package_that_is_imported_already(monkeypatch):
    monkeypatch.setitem(sys.modules, "aesara", sys)
    with pytest.raises(phintys.PhintysError, match="before the first import"):
        install("aesara")


def test_a_name_that_is_not_there(theano):
    with pytest.raises(AttributeError, match="Did you mean dscalar"):
        _ = theano.tensor.dscalr


def test_what_is_not_offered_says_so(package):
    for module in (*MISSING, "link.vm", "link.c.cmodule"):
        parent = module.rpartition(".")[0]
        # The others were in another package, or have modules that are offered.
        if parent in PACKAGES[package] and module not in PACKAGES[package]:
            with pytest.raises(ModuleNotFoundError, match="does not offer"):
                __import__(f"{package}.{module}")


@pytest.mark.parametrize("name", list(MISSING_NAMES))
def test_names_that_are_not_offered_say_so(theano, name):
    home = theano.tensor.opt
    with pytest.raises(AttributeError, match="does not offer"):
        getattr(home, name)
    with pytest.raises(ImportError, match="does not offer"):
        exec(f"from theano.tensor.opt import {name}")


def test_importing_a_module_does_not_hide_a_function_of_its_name(theano):
    import theano.compile.function
    import theano.tensor.sort

    assert theano.tensor.sort is pt.sort
    assert theano.compile.function is theano.function
    assert theano.compile.mode is sys.modules["theano.compile.mode"]


def test_functions_in_their_old_modules(theano):
    from theano.tensor.extra_ops import bincount, searchsorted
    from theano.tensor.sort import argtopk, topk, topk_and_argtopk

    assert (bincount, searchsorted) == (pt.bincount, pt.searchsorted)
    assert (topk, argtopk, topk_and_argtopk) == (pt.topk, pt.argtopk, pt.topk_and_argtopk)


def test_names_of_the_contract(theano, aesara):
    from theano.graph.destroyhandler import fast_inplace_check
    from theano.graph.op import Op
    from theano.graph.opt import local_optimizer
    from theano.graph.toolbox import ReplaceValidate

    assert fast_inplace_check is theano.gof.destroyhandler.fast_inplace_check
    assert aesara.graph.destroyhandler.inplace_candidates is fast_inplace_check
    assert (Op, local_optimizer) == (theano.gof.Op, theano.gof.local_optimizer)
    assert ReplaceValidate is theano.gof.toolbox.ReplaceValidate
    assert theano.graph.fg.FunctionGraph is theano.gof.FunctionGraph
    x, v = theano.tensor.dvectors("x", "v")
    slope = theano.gradient.R_op(x**2, x, v)
    assert theano.function([x, v], slope)([3.0], [1.0]).tolist() == [6.0]

    def to_this(variable, target):
        return variable * 2 if target == "twice" else None

    theano.tensor.register_transfer(to_this)
    assert x.transfer("twice").eval({x: [1.0]}).tolist() == [2.0]


def test_a_function_that_is_a_module_as_well(theano):
    T = theano.tensor
    x = T.dvector("x")
    outputs = [T.xlogx(x), T.xlogx.xlogx(x), T.xlogx.xlogy0(x, x)]
    for found in theano.function([x], outputs)([0.0, 1.0, np.e]):
        np.testing.assert_allclose(found, [0, 0, np.e])


def test_choices_in_their_newer_module():
    install("pytensor")
    from pytensor.conditional import ifelse
    from pytensor.conditional.op import IfElse

    x = pt.dscalar("x")
    assert isinstance(ifelse(x > 0, x, -x).owner.op, IfElse)
    with pytest.raises(ImportError, match=r"LazyIfElse: Phintys does not offer .* use ifelse"):
        from pytensor.conditional import LazyIfElse  # noqa: F401 - the import fails
    uninstall("pytensor")


def test_star_import(theano):
    namespace: dict[str, object] = {}
    exec("from theano.tensor import *", namespace)
    assert namespace["dmatrix"] is pt.dmatrix
    assert namespace["TensorType"] is not pt.TensorType


def test_old_calls(theano):
    T = theano.tensor
    assert T.TensorType("float32", (False, True)) == pt.TensorType("float32", (None, 1))
    assert isinstance(pt.dvector, T.TensorType)
    assert T.tensor("int8", (False,), "v").type == pt.TensorType("int8", (None,))
    assert T.tensor("v", shape=(3,)).type.shape == (3,)
    assert T.tensor("int8", shape=(3,), name="v").type == pt.TensorType("int8", (3,))
    assert T.tensor(np.int8, shape=(3,)).type == pt.TensorType("int8", (3,))
    assert T.tensor("v", "int8", shape=(False, True)).type == pt.TensorType("int8", (None, 1))
    assert T.get_scalar_constant_value(T.constant(3)) == 3
    assert T.get_vector_length(T.stack([T.dscalar(), 2.0])) == 2
    x = T.dmatrix("x")
    assert T.DimShuffle((False, False), (1, 0))(x).type == x.T.type
    assert isinstance(x.T.owner.op, T.elemwise.DimShuffle)
    assert T.addbroadcast(x, 0).broadcastable == (True, False)
    f = theano.function([x], [T.nnet.relu(x), T.nnet.relu(x, 0.1), T.iround(x), T.sgn(x)])
    plain, leaky, rounded, sign = f([[-2.0, 2.5]])
    np.testing.assert_array_equal(plain, [[0, 2.5]])
    np.testing.assert_allclose(leaky, [[-0.2, 2.5]])
    np.testing.assert_array_equal(rounded, [[-2, 2]])
    np.testing.assert_array_equal(sign, [[-1, 1]])


def test_constructors_take_the_dtype_second(theano):
    T = theano.tensor
    assert T.scalar("x", "float32").type == pt.fscalar
    assert T.matrix("x", dtype="int8").type == pt.bmatrix
    assert T.row().type == pt.row().type
    assert T.tensor3("x", "int32").name == "x"


def test_functions_that_only_the_old_packages_had(theano):
    T = theano.tensor
    rng = np.random.default_rng(7)
    x, y = T.dmatrix("x"), T.lvector("y")
    p = T.nnet.sigmoid(x)
    outputs = [
        T.extra_ops.to_one_hot(y, 4, dtype="int8"),
        T.elemwise.Sum(axis=0)(x),
        T.nlinalg.matrix_dot(x, x.T, x),
        T.nnet.binary_crossentropy(p, 0.25),
        T.nnet.sigmoid_binary_crossentropy(x, 0.25),
        T.nnet.batch_normalization(x, 2.0, 1.0, x.mean(0), x.std(0)),
        T.permute_row_elements(x, y),
        T.permute_row_elements(x, y, 1),
    ]
    a, order = rng.normal(size=(2, 3)), np.array([2, 0, 1])
    f = theano.function([x, y], outputs)
    one_hot, total, product, entropy, stable, normal, permuted, back = f(a, order)
    np.testing.assert_array_equal(one_hot, np.eye(4, dtype="int8")[order])
    np.testing.assert_allclose(total, a.sum(0))
    np.testing.assert_allclose(product, a @ a.T @ a)
    np.testing.assert_allclose(stable, entropy)
    np.testing.assert_allclose(normal, (a - a.mean(0)) * 2 / a.std(0) + 1)
    np.testing.assert_array_equal(permuted, a[:, order])
    np.testing.assert_array_equal(back, a[:, np.argsort(order)])
    assert theano.misc.safe_asarray._asarray(3, "floatX").dtype == "float64"


def test_gradients_as_marks(theano):
    T = theano.tensor
    x = T.dscalar("x")
    held = theano.gradient.consider_constant_(x)
    assert theano.function([x], T.grad(held * x, x))(3.0) == 3.0


def test_a_script_of_its_time(tmp_path):
    script = tmp_path / "logistic.py"
    script.write_text(
        "import sys\n"
        "import numpy\n"
        "import theano\n"
        "import theano.tensor as T\n"
        "rng = numpy.random.RandomState(0)\n"
        "N, feats = 40, 5\n"
        "D = (rng.randn(N, feats), rng.randint(size=N, low=0, high=2))\n"
        "x, y = T.dmatrix('x'), T.dvector('y')\n"
        "w = theano.shared(numpy.zeros(feats), name='w')\n"
        "b = theano.shared(0., name='b')\n"
        "p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))\n"
        "xent = -y * T.log(p_1) - (1-y) * T.log(1-p_1)\n"
        "cost = xent.mean() + 0.01 * (w ** 2).sum()\n"
        "gw, gb = T.grad(cost, [w, b])\n"
        "train = theano.function([x, y], cost, updates=((w, w - 0.1 * gw), (b, b - 0.1 * gb)))\n"
        "costs = [train(D[0], D[1]) for i in xrange(100)]\n"
        "print costs[0] > costs[-1], sys.argv[1:]\n"
    )
    command = [sys.executable, "-m", "phintys.compat", str(script), "--flag"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "True ['--flag']\n"
    assert "translated from Python 2" in done.stderr


@pytest.mark.parametrize(("arguments", "status"), [([], 2), (["--help"], 0)])
def test_usage(arguments, status):
    command = [sys.executable, "-m", "phintys.compat", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert "usage: python -m phintys.compat (SCRIPT | -m MODULE)" in done.stdout


def test_a_module_runs_as_a_script_does(tmp_path):
    package = tmp_path / "models"
    package.mkdir()
    (package / "__init__.py").write_text("import theano.tensor as T\n")
    (package / "part.py").write_text("from . import T\nx = T.dscalar('x')\n")
    (package / "__main__.py").write_text(
        "import sys\nfrom .part import x\nprint(__name__, (x + 1).eval({x: 1.0}), sys.argv[1:])\n"
    )
    command = [sys.executable, "-m", "phintys.compat", "-m", "models", "--flag"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "__main__ 2.0 ['--flag']\n"


@pytest.mark.parametrize("name", ["", "is_not_there", "builtins", "json"])
def test_a_module_that_cannot_run_is_refused(name):
    with pytest.raises(ImportError, match="There is no module"):
        run_module(name, [])


def test_a_script_that_is_no_python(tmp_path):
    script = tmp_path / "broken.py"
    script.write_text("def f(:\n")
    command = [sys.executable, "-m", "phintys.compat", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "SyntaxError" in done.stderr


def test_inplace_names_that_only_the_old_packages_had(theano):
    from theano.tensor import inplace

    assert inplace is theano.tensor.inplace
    assert inplace.psi_inplace is pt.inplace.digamma_inplace
    assert inplace.exp_inplace is pt.inplace.exp_inplace


def test_updates_are_of_shared_variables(theano):
    s = theano.shared(1.0)
    updates = theano.OrderedUpdates({s: s + 1})
    with pytest.raises(TypeError, match="shared variable"):
        updates[theano.tensor.dscalar()] = 1
    with pytest.raises(KeyError, match="two ways"):
        updates.update({s: s + 2})
    t = theano.shared(2.0)
    assert list(updates + {t: t + 1}) == [s, t]


def test_joining_by_an_op(theano):
    T = theano.tensor
    x = T.dvector("x")
    joined = T.Join()(0, x, x)
    assert isinstance(joined.owner.op, T.Join)
    assert joined.eval({x: [1.0]}).tolist() == [1.0, 1.0]


OLD_DIVISIONS = """
from __future__ import print_function{division}
import numpy
import theano.tensor as T
exec "n = 7 / 2"
class Box(object):
    size = 9
class Counting(list):
    def __getitem__(self, i):
        self.reads = getattr(self, "reads", 0) + 1
        return list.__getitem__(self, i)
calls = []
def first():
    calls.append(1)
    return 0
box, items, ints, floats = Box(), Counting([9]), numpy.array([5, 7]), numpy.array([1., 3.])
same = ints
n = 9; m = -7 / 2; f = 7 / 2.0
n /= 2
box.size /= 2
items[first()] /= 4
ints[1:] /= 2
ints /= 2
floats /= 2
symbolic = T.iscalar("i") / 2
quotients = [n, m, f, box.size, items[0], 6 / 4 / 1, (lambda k: k / 2)(5)]
"""


@pytest.mark.parametrize("division", ["", ", division"])
def test_divisions_of_python_2(tmp_path, division):
    script = tmp_path / "divisions.py"
    text = OLD_DIVISIONS.format(division=division)
    if division:
        text = text.replace("ints[1:] /= 2\nints /= 2\n", "")
    script.write_text(text)
    try:
        module = run_script(str(script), [])
        if division:
            assert module.quotients == [4.5, -3.5, 3.5, 4.5, 2.25, 1.5, 2.5]
            assert module.symbolic.dtype == "float64"
            return
        assert module.quotients == [4, -4, 3.5, 4, 2, 1, 2]
        assert (len(module.calls), module.items.reads) == (1, 2)
        assert module.same is module.ints
        assert module.ints.tolist() == [2, 1]
        assert module.floats.tolist() == [0.5, 1.5]
        assert module.symbolic.dtype == "int32"
        i = module.symbolic.owner.inputs[0]
        assert module.symbolic.eval({i: 7}) == 3
    finally:
        for package in PACKAGES:
            uninstall(package)


FLAGS = """
import os, sys, warnings
os.environ["THEANO_FLAGS"] = sys.argv[1]
import theano, theano.tensor as T
c = theano.config
print(T.matrix().dtype, c.device, c.optimizer_including, c.openmp, c.lib.cnmem, c.linker, c.mode)
print(theano.function([], T.ones(2)).maker.mode.backend.name)
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (
            "mode=FAST_RUN,device=gpu, floatX=float32,optimizer_including=cudnn,lib.cnmem=0.8",
            "float32 gpu cudnn False 0.8 cvm FAST_RUN native",
        ),
        ("openmp=True,linker=py,mode=Mode,", "float64 cpu  True 0.0 py native reference"),
        ("mode=NUMBA", "float64 cpu  False 0.0 cvm NUMBA native"),
        ("", "float64 cpu  False 0.0 cvm native native"),
    ],
)
def test_flags_from_the_environment(tmp_path, flags, expected):
    script = tmp_path / "flags.py"
    script.write_text(FLAGS)
    command = [sys.executable, "-m", "phintys.compat", str(script), flags]
    environment = {name: x for name, x in os.environ.items() if name != "PHINTYS_FLAGS"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.stdout.split("\n")[:2] == expected.rsplit(" ", 1), done.stderr


@pytest.mark.sampled(2, 1)
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("nvcc.flags=-O3", "ConfigWarning: AESARA_FLAGS: there is no option 'nvcc.flags'"),
        ("floatX=float8", "takes one of"),
        ("floatX=float8", "The value comes from AESARA_FLAGS"),
        ("floatX", "an entry is name=value, got 'floatX'"),
    ],
)
def test_flags_that_are_wrong(flags, message):
    program = "import phintys.compat; phintys.compat.install('aesara'); import aesara"
    environment = os.environ | {"AESARA_FLAGS": flags}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert message in done.stderr
