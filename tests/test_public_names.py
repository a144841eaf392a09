"""Where users find things, and what importing Phintys costs."""

import ast
import importlib
import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

import phintys
from phintys._base.names import NOT_OFFERED, NOT_OFFERED_MODULES

HOMES = {
    "phintys": """
        function shared grad Lop Rop jacobian hessian subgraph_grad In Out Mode get_mode config
        dprint debugprint pprint free_memory Function SharedVariable DebugMode NanGuardMode
        MonitorMode clone_replace graph_replace rewrite_graph Type Variable Constant Apply Op
        FunctionGraph PhintysError
        tensor scalar gradient graph rewriting compile testing passes Profile print_profiles
        wrap_py save load contrib control parallel ifelse scan until OpFromGraph random
        """,
    "phintys.graph": """
        Type Variable Constant Apply Op FunctionGraph Feature SharedVariable NullType
        DisconnectedType ancestors graph_inputs toposort io_toposort equal_computations clone
        clone_replace graph_replace verify_graph register_transfer
        """,
    "phintys.tensor": """
        special linalg inplace TensorType TensorVariable TensorConstant Elemwise Reduce DimShuffle
        scalar vector matrix row col tensor3 tensor4 tensor scalars vectors matrices dmatrix lvector
        dscalars ivectors as_tensor_variable constant exp expm1 exp2 log log1p log2 log10 sin cos
        tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh sigmoid softplus erf
        erfc erfinv gamma gammaln digamma power pow minimum maximum clip switch where cast real imag
        conj angle complex floor ceil round trunc sum prod mean var std max min all any argmax
        argmin dimshuffle reshape flatten broadcast_to alloc shape shape_i dot matmul stack
        concatenate einsum
        split set_subtensor inc_subtensor arange eye diag zeros ones full zeros_like ones_like
        full_like softmax log_softmax logsumexp cumsum sort argsort eq neq lt le gt ge and_ or_ xor
        invert logical_and logical_or logical_not random
        """,
    "phintys.tensor.inplace": "add_inplace mul_inplace exp_inplace neg_inplace switch_inplace",
    "phintys.tensor.special": "erf gammaln digamma softmax log_softmax logsumexp",
    "phintys.tensor.signal": """
        average_pool conv conv_transpose convolve1d convolve2d max_pool sum_pool
    """,
    "phintys.tensor.fft": """
        fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fft2 ifft2 rfft2 irfft2 fftfreq
        rfftfreq fftshift ifftshift
        """,
    "phintys.tensor.linalg": """
        norm dot matmul kron outer trace solve cholesky inv det slogdet eigh svd qr pinv lstsq expm
        cond matrix_power multi_dot
    """,
    "phintys.scalar": """
        ScalarType int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64
        complex64 complex128 constant Composite add mul exp cast
        """,
    "phintys.gradient": """
        grad Lop Rop jacobian hessian hessian_vector_product subgraph_grad consider_constant
        zero_grad disconnected_grad grad_clip grad_scale grad_undefined grad_not_implemented
        NullType DisconnectedType verify_grad numeric_grad custom_gradient checkpoint
        """,
    "phintys.rewriting": """
        node_rewriter graph_rewriter PatternRewriter Pass Pipeline WalkInOrder WalkOutOrder Worklist
        """,
    "phintys.control": """
        OpFromGraph IfElse ifelse cond branch RowLoop Scan scan until map reduce foldl foldr filter
        loop while_loop fori_loop
        """,
    "phintys.random": """
        RandomStream rng shared_rng state Distribution Normal Uniform logp cdf icdf normal uniform
        bernoulli exponential
        """,
    "phintys.contrib": """
        sgd momentum adagrad adam adamw averaged clip_by_norm warmup cosine_decay exponential_decay
        piecewise save load
        """,
    "phintys.contrib.optimisers": "sgd momentum adagrad adam",
    "phintys.inspect": "graph_page profile_page to_dot to_mermaid draw_graph draw_program",
    "phintys.optimize": "minimize",
    "phintys.parallel": "map TaskError",
    "phintys.tree": "flatten leaves leaves_with_paths map ravel",
    "phintys.testing": "check_op OpRecord verify_grad verify_rop",
    "phintys.compile": "function In Out Mode DebugMode NanGuardMode Profile register_mode get_mode",
}


@pytest.mark.parametrize("home", HOMES)
def test_names_are_where_they_are_said_to_be(home):
    module = importlib.import_module(home)
    missing = [name for name in HOMES[home].split() if not hasattr(module, name)]
    assert not missing


@pytest.mark.parametrize(
    "name", ["shared", "grad", "verify_grad", "function", "In", "Op", "SharedVariable"]
)
def test_a_name_means_the_same_everywhere(name):
    things = {
        id(getattr(module, name))
        for home in HOMES
        if hasattr(module := importlib.import_module(home), name)
    }
    assert len(things) == 1


@pytest.mark.parametrize("home", HOMES)
def test_functions_and_classes_are_pickled_by_their_names(home):
    module = importlib.import_module(home)
    things = {name: getattr(module, name) for name in dir(module)}
    for cls in [thing for thing in things.values() if isinstance(thing, type)]:
        if cls.__module__.startswith("phintys."):
            methods = {name: thing for name, thing in vars(cls).items() if not name.startswith("_")}
            things |= {f"{cls.__name__}.{name}": thing for name, thing in methods.items()}
    for name, thing in things.items():
        is_named = isinstance(thing, type | FunctionType) and thing.__name__ == name.split(".")[-1]
        if is_named and "<" not in thing.__qualname__:
            assert pickle.loads(pickle.dumps(thing)) is thing, name


HEAVY = """
    numpy.ma numpy.random scipy llvmlite.binding llvmlite.ir jax matplotlib hypothesis mpmath pytest
    fissix argparse ast asyncio csv decimal difflib dis fractions importlib.metadata inspect json
    logging multiprocessing platformdirs random shutil statistics subprocess sysconfig tempfile
    textwrap tokenize unittest xml
    cloudpickle distributed joblib phintys.backends.jax phintys.parallel
    phintys.compat phintys.contrib phintys.random phintys.graph.from_function
    phintys.testing phintys.backends.reference.backend phintys.backends.reference.thunks
    phintys.compile.debug_mode phintys.compile.debugging phintys.compile.monitor
    phintys.compile.monitor phintys.compile.profile.profile phintys.graph.printing
    phintys.graph.latex phintys.graph.notebooks phintys.scalar.printing
    phintys.tensor.printing phintys.control.branches phintys.control.loop_forms
    phintys.control.loops phintys.control.rows.row_loop phintys.gradient.forward
    phintys.gradient.reverse phintys.gradient.verify phintys.scalar.formula_derivatives
    phintys.tensor.inplace
    phintys.tensor.batching.blockwise phintys.tensor.blas phintys.tensor.contractions
    phintys.tensor.diagonals phintys.tensor.linear_algebra phintys.tensor.products
    phintys.tensor.sorting phintys.tensor.statistics
    phintys.passes.batching phintys.passes.blas phintys.passes.choices phintys.passes.factors
    phintys.passes.marks phintys.passes.linear_algebra
    phintys.passes.loop_arguments phintys.passes.loop_batches phintys.passes.loop_merging
    phintys.passes.loop_states phintys.passes.loop_sums phintys.passes.loop_unrolling
    phintys.passes.loop_work phintys.passes.matrices phintys.passes.patterned_matrices
    phintys.passes.products
    """
AT_IMPORT = f"""{HEAVY}
    hashlib llvmlite pathlib phintys.backends.native phintys.backends.measurements
    phintys.gradient.marks phintys.tensor.guards
    """
AT_FIRST_USE = f"""{HEAVY}
    phintys.backends.native.explain phintys.backends.native.measuring
    phintys.backends.native.routines.blas_calls phintys.backends.native.routines.times_vectors
    phintys.backends.native.assembler.math.complex phintys.backends.native.assembler.math.gamma
    phintys.backends.native.assembler.math.integer phintys.backends.native.assembler.math.log_gamma
    phintys.backends.native.assembler.math.trigonometric phintys.backends.native.assembler.math.zeta
    phintys.backends.native.routines.product_parts
    phintys.backends.native.routines.outlined_products phintys.backends.native.assembler.random
    phintys.backends.native.runtime.saving phintys.backends.native.lower.cumulative
    phintys.backends.native.lower.shapes phintys.backends.native.lower.indexing
    phintys.backends.native.lower.shapes phintys.backends.native.lower.products
    phintys.backends.native.lower.row_loop
    """
AT_PRODUCT = f"""{AT_FIRST_USE}
    phintys.backends.native.assembler.math.exponential phintys.backends.native.assembler.math.power
    phintys.backends.native.lower.reduce phintys.gradient.marks phintys.passes.stabilize
    phintys.passes.reduce
    phintys.tensor.indexing.advanced phintys.tensor.joining phintys.tensor.reduce
    phintys.tensor.reshaping phintys.tensor.softmaxes
    """

IMPORT = "import phintys"
FIRST_USE = """
import phintys.tensor as pt
x = pt.dvector("x")
f = phintys.function([x], pt.exp(x) / x.sum() + numpy.ones(2), mode="native")
assert type(f.vm).__name__ == "NativeProgram"
f([1.0, 2.0])
"""
PRODUCT = """
import phintys.tensor as pt
x, y = pt.dvectors("x", "y")
f = phintys.function([x, y], x * y, mode="native")
f([1.0, 2.0], [3.0, 4.0])
"""


@pytest.mark.parametrize(
    ("program", "heavy", "most"),
    [
        (IMPORT, AT_IMPORT, 170),
        (IMPORT + FIRST_USE, AT_FIRST_USE, 320),
        (IMPORT + PRODUCT, AT_PRODUCT, 285),
    ],
)
def test_what_is_heavy_is_imported_when_it_is_needed(program, heavy, most):
    # NumPy imports inspect as well, which dataclasses needs, but its version 2.0 does not.
    program = f"""
import sys, numpy, dataclasses
before = set(sys.modules)
{program}
print(*set(sys.modules) - before)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    loaded = run.stdout.decode().split()
    found = [one for one in loaded for name in heavy.split() if f"{one}.".startswith(f"{name}.")]
    assert loaded
    assert not found
    # Each takes a fifth of a millisecond or more.
    assert len([one for one in loaded if one.startswith("phintys")]) <= most


# The bridges' packages need libraries that are optional; ``phintys.control`` offers the names of
# the folders in it.
LEFT_OUT = ("phintys._base", "phintys.backends", "phintys.bridge.", "phintys.control.")

# Packages that offer names, and modules that users import by name.
PUBLIC = sorted(
    {
        package.name
        for package in pkgutil.walk_packages(phintys.__path__, "phintys.")
        if package.ispkg and not package.name.startswith(LEFT_OUT)
    }
    - {"phintys.compile.debugging"}
    | set(HOMES)
    | {"phintys.backends.reference", "phintys.tensor.constructors", "phintys.testing.strategies"}
)


def test_no_module_has_the_name_of_a_function_in_it_that_its_package_offers():
    """An import of the module would put it in the place of the function."""
    source = Path(phintys.__file__).parent
    for path in source.rglob("*.py"):
        *package, name = path.relative_to(source.parent).with_suffix("").parts
        home = sys.modules.get(".".join(package))
        is_for_users = ".".join([*package, name]) in HOMES  # such as numpy.fft
        if name in getattr(home, "__all__", ()) and not is_for_users:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            made = {getattr(node, "name", None) for node in tree.body}
            assert name not in made, path


@pytest.mark.parametrize("home", PUBLIC)
def test_dir_shows_what_is_offered_and_no_tools(home):
    module = importlib.import_module(home)
    shown = {name for name in dir(module) if not name.startswith("__")}
    assert shown >= {name for name in module.__all__ if not name.startswith("__")}
    extra = shown - set(module.__all__)
    assert all(isinstance(getattr(module, name), ModuleType) for name in extra)
    assert all(getattr(module, name).__name__ == f"{home}.{name}" for name in extra)
    assert not {"np", "Any", "TYPE_CHECKING", "late_names", "public_dir"} & shown
    assert {"__all__", "__doc__", "__file__"} <= set(dir(module))


@pytest.mark.parametrize("home", HOMES)
def test_dir_shows_the_names_that_users_look_for(home):
    assert set(HOMES[home].split()) <= set(dir(importlib.import_module(home)))


@pytest.mark.parametrize("home", ["phintys", "phintys.tensor", "phintys.tensor.linalg"])
def test_what_is_offered_is_not_said_to_be_missing(home):
    assert not NOT_OFFERED.keys() & set(dir(importlib.import_module(home)))


@pytest.mark.parametrize(
    ("home", "name", "instead"),
    [
        ("phintys", "foldl", "phintys.control"),
        ("phintys.tensor", "RandomStreams", "phintys.random.RandomStream"),
        ("phintys.tensor", "conv2d", "phintys.tensor.signal"),
        ("phintys.tensor", "rfft", "phintys.tensor.fft"),
        ("phintys.tensor.linalg", "polar", "phintys.wrap_py"),
        ("phintys", "vmap", "pt.vectorize"),
        ("phintys", "jit", "phintys.function"),
        ("phintys", "jvp", "phintys.Rop"),
        ("phintys.tensor", "one_hot", "pt.to_one_hot"),
        ("phintys.tensor", "vertcat", "pt.concatenate"),
        ("phintys.tensor", "as_tensor", "pt.asarray"),
        ("phintys.random", "key", "phintys.random.default_rng"),
        ("phintys.random", "split", "phintys.random.default_rng"),
        ("phintys", "Normal", "phintys.random"),
        ("phintys.tensor", "Normal", "phintys.random"),
        ("phintys", "no_grad", "phintys.gradient.disconnected_grad"),
        ("phintys.tensor", "requires_grad", "phintys.gradient.disconnected_grad"),
        ("phintys.tensor", "backward", "phintys.grad"),
        ("phintys", "lax", "phintys.control"),
        ("phintys.tensor", "nn", "phintys.tensor"),
        ("phintys.tensor", "gelu", "pt.ndtr"),
        ("phintys", "tree_map", "phintys.tree.map"),
        ("phintys", "device_put", "phintys.shared"),
        ("phintys.tensor", "scan", "phintys.scan"),
        ("phintys", "tanh", "phintys.tensor.tanh"),
        ("phintys.tensor", "sigmoyd", "Did you mean 'sigmoid'"),
        ("phintys.random", "RandomStraem", "Did you mean 'RandomStream'"),
    ],
)
def test_what_is_not_offered_yet_says_what_to_use(home, name, instead):
    module = importlib.import_module(home)
    assert not hasattr(module, name)
    with pytest.raises(AttributeError, match=f"{name}'.*{instead}"):
        getattr(module, name)


@pytest.mark.parametrize(
    ("module", "instead"),
    [
        ("phintys.scan", "from phintys import scan"),
        ("phintys.tensor.random", "phintys.random"),
        ("phintys.graph.replace", "clone_replace"),
    ],
)
def test_imports_of_modules_that_are_elsewhere_say_where(module, instead):
    with pytest.raises(ModuleNotFoundError, match=f"no module {module}.*{instead}") as raised:
        importlib.import_module(module)
    assert raised.value.name == module


def test_other_modules_are_missing_as_ever():
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'phintys\.nothing'"):
        importlib.import_module("phintys.nothing")


@pytest.mark.parametrize("module", NOT_OFFERED_MODULES)
def test_no_module_is_said_to_be_missing_that_is_there(module):
    assert module not in sys.modules
    parts = module.split(".")
    assert not any(
        (Path(home, *parts[1:])).with_suffix(".py").exists() for home in phintys.__path__
    )


@pytest.mark.parametrize(
    ("name", "instead"),
    [("at", "pt.set_subtensor"), ("detach", "disconnected_grad"), ("unsqueeze", "pt.expand_dims")],
)
def test_attributes_of_other_libraries_say_what_to_write(name, instead):
    x = phintys.tensor.dvector("x")
    assert not hasattr(x, name)
    assert name not in dir(x)
    with pytest.raises(AttributeError, match=f"no attribute '{name}'. .*{instead}"):
        getattr(x, name)
