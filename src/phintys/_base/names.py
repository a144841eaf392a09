"""Names: similar ones, those of other libraries that Phintys lacks, and those in ``dir``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from phintys._base.uninterrupted import import_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec


def near_misses(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Return the known names that are most similar to an unknown one, best match first.

    Parameters
    ----------
    name
        The unknown name.
    known
        All known names.
    most
        Maximum number of names to return.

    Examples
    --------
    >>> from phintys._base.names import near_misses
    >>> near_misses("refrence", ["native", "reference"])
    ['reference']
    """
    difflib = import_whole("difflib")
    return difflib.get_close_matches(name, list(known), n=most)


_RANDOM = "Streams are phintys.random.RandomStream"
_KEYS = (
    "A generator is phintys.random.default_rng(seed), with r.fold_in(i) and r.split(n) for others; "
    "phintys.random.RandomStream(seed) draws without keys"
)
_SOLVERS = "Call NumPy's or SciPy's function through phintys.wrap_py, with its gradient as grad="
_CONVOLUTIONS = "Convolutions are in phintys.tensor.signal: conv, conv_transpose, convolve2d"
_DECOMPOSITIONS = ("funm", "hessenberg", "polar")
_LOOPS = "It is in phintys.control, with scan and the functional forms of loops"
_BATCHES = (
    "Write pt.vectorize for a function, phintys.vectorize_graph(y, {x: xs}) for an expression"
)
_STACKS = "Write pt.concatenate([x, y]), pt.stack or pt.block"
_RECORDING = (
    "Nothing is recorded: phintys.grad(cost, wrt) derives what is asked for, and "
    "phintys.gradient.disconnected_grad(x) leaves x out of it"
)
_TREES = "Write phintys.tree.map, leaves, flatten or ravel"
_DEVICES = (
    "Functions take and return NumPy arrays; what stays in memory between calls is "
    "phintys.shared(value)"
)
_DISTRIBUTIONS = "Distributions and their densities are in phintys.random"

NOT_OFFERED = {
    **dict.fromkeys(("foldl", "foldr", "map", "reduce"), _LOOPS),
    **dict.fromkeys(("fori_loop", "while_loop"), _LOOPS),
    **dict.fromkeys(("RandomStream", "RandomStreams", "shared_randomstreams"), _RANDOM),
    **dict.fromkeys(("PRNGKey", "key"), _KEYS),
    **dict.fromkeys(("as_tensor", "from_numpy"), "It is pt.asarray, or pt.as_tensor_variable"),
    **dict.fromkeys(("conv", "conv1d", "conv2d", "conv3d", "convolve2d"), _CONVOLUTIONS),
    "nnet": f"{_CONVOLUTIONS}, and activations and softmaxes are in phintys.tensor",
    **dict.fromkeys(("max_pool", "pool_2d"), "It is phintys.tensor.signal.max_pool"),
    **dict.fromkeys(("rfft", "irfft"), "It is in phintys.tensor.fft"),
    **dict.fromkeys(_DECOMPOSITIONS, _SOLVERS),
    **dict.fromkeys(("vmap", "pmap"), _BATCHES),
    **dict.fromkeys(
        ("jit", "compile_function"),
        "Declare inputs, and compile an expression: phintys.function([x], y)",
    ),
    **dict.fromkeys(("jvp", "pushforward"), "Forward derivatives are phintys.Rop(y, x, direction)"),
    **dict.fromkeys(
        ("vjp", "pullback", "linear_transpose"), "Reverse derivatives are phintys.Lop(y, x, grad_y)"
    ),
    **dict.fromkeys(("jacfwd", "jacrev"), "Write phintys.jacobian(y, x)"),
    **dict.fromkeys(("stop_gradient", "detach"), "Write phintys.gradient.disconnected_grad(x)"),
    **dict.fromkeys(("custom_vjp", "custom_jvp"), "Write phintys.gradient.custom_gradient"),
    "one_hot": "Write pt.to_one_hot(indices, n)",
    **dict.fromkeys(("vertcat", "horzcat", "cat"), _STACKS),
    **dict.fromkeys(("SX", "MX", "DM"), "Write pt.dvector('x') or pt.dmatrix('x')"),
    "mtimes": "Write x @ y",
    "norm_2": "Write phintys.tensor.linalg.norm(x)",
    **dict.fromkeys(("nlpsol", "qpsol", "Opti"), "Write phintys.optimize.Minimizer"),
    "rootfinder": "It is phintys.tensor.optimize.root",
    **dict.fromkeys(("unsqueeze", "permute"), "Write pt.expand_dims, pt.transpose or x.dimshuffle"),
    **dict.fromkeys(("MvNormal", "Deterministic", "Potential", "Dist"), _DISTRIBUTIONS),
    **dict.fromkeys(("Normal", "Uniform", "Bernoulli", "Categorical", "Gamma"), _DISTRIBUTIONS),
    **dict.fromkeys(("no_grad", "enable_grad", "requires_grad", "GradientTape"), _RECORDING),
    "backward": "The gradient of a cost is phintys.grad(cost, wrt)",
    "autograd": "Write phintys.grad, phintys.jacobian or phintys.hessian",
    "lax": "Loops and branches are in phintys.control, all else is in phintys.tensor",
    "nn": "Activations and softmaxes are in phintys.tensor",
    "optim": "Training steps are in phintys.contrib.optimisers, solvers in phintys.optimize",
    "optax": "Training steps are in phintys.contrib.optimisers",
    "gelu": "Write x * pt.ndtr(x)",
    **dict.fromkeys(("silu", "swish"), "Write x * pt.sigmoid(x)"),
    **dict.fromkeys(("tree_map", "tree_leaves", "tree_flatten", "tree_util"), _TREES),
    **dict.fromkeys(("device_put", "DeviceArray", "to_device"), _DEVICES),
    "placeholder": "Write pt.tensor('x', dtype='float64', shape=(None, 3)), pt.vector, pt.matrix",
    **dict.fromkeys(("Parameter", "Param", "shared_variable"), "Write phintys.shared(value, name)"),
}
"""Name -> what to write instead, as a sentence without a full stop."""

NOT_OFFERED_BY: dict[str, dict[str, str]] = {
    "phintys.random": dict.fromkeys(("split", "fold_in"), _KEYS),
    "phintys.tensor": {"norm": "It is phintys.tensor.linalg.norm"},
}
"""Package -> the same for names that mean something else in another package."""

NOT_OFFERED_MODULES = {
    "phintys.scan": "phintys.scan is a function: from phintys import scan, until",
    "phintys.numpy": "NumPy's functions are in phintys.tensor",
    "phintys.function": "phintys.function is a function: from phintys import function",
    "phintys.ifelse": "phintys.ifelse is a function: from phintys import ifelse",
    "phintys.printing": "Write phintys.dprint, phintys.pprint",
    "phintys.tensor.random": "It is phintys.random",
    "phintys.tensor.nnet": NOT_OFFERED["nnet"],
    "phintys.tensor.basic": "Names of phintys.tensor are in phintys.tensor itself",
    "phintys.tensor.nlinalg": "It is phintys.tensor.linalg",
    "phintys.tensor.slinalg": "It is phintys.tensor.linalg",
    "phintys.tensor.signal.pool": "Pooling is max_pool, sum_pool, average_pool of pt.signal",
    "phintys.graph.basic": "Names of phintys.graph are in phintys.graph itself",
    "phintys.graph.replace": "from phintys.graph import clone_replace, graph_replace",
    "phintys.graph.rewriting": "It is phintys.rewriting",
    "phintys.raise_op": "It is phintys.tensor.Assert",
}
"""Module -> what to write instead, as a sentence without a full stop."""


class ModulesElsewhere:
    """Finds no module: the import of one in :data:`NOT_OFFERED_MODULES` says what to write instead.

    It is the last entry of ``sys.meta_path``, so that only imports that fail ask it.
    """

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        """Raise for the modules that are elsewhere, else return ``None``."""
        del path, target
        if name not in NOT_OFFERED_MODULES:
            return None
        msg = f"There is no module {name}. {NOT_OFFERED_MODULES[name]}."
        raise ModuleNotFoundError(msg, name=name)


class Instead:
    """An attribute that other libraries have: reading it raises an error that says what to write.

    Parameters
    ----------
    hint
        What to write, as a sentence without a full stop.
    """

    def __init__(self, hint: str) -> None:
        self.hint = hint

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        msg = f"{owner.__name__} has no attribute {self.name!r}. {self.hint}."
        raise AttributeError(msg, name=self.name, obj=instance)


def public_dir(module: str, *more: str) -> Callable[[], list[str]]:
    """Return ``__dir__`` of a module: the names in its ``__all__``, and those of Python's own.

    Parameters
    ----------
    module
        The module's ``__name__``.
    more
        Other names that it offers.

    Examples
    --------
    >>> import phintys.tensor.linalg
    >>> "norm" in dir(phintys.tensor.linalg), "np" in dir(phintys.tensor.linalg)
    (True, False)
    """

    def all_names() -> list[str]:
        namespace = vars(sys.modules[module])
        own = {name for name in namespace if name.startswith("__")} - {"__dir__", "__getattr__"}
        return sorted({*own, *namespace["__all__"], *more})

    return all_names
