"""The functions behind the operators and methods of tensor variables.

Variables are defined before the ops that act on them, so :class:`TensorVariable` calls functions
through this table, and :mod:`phintys.tensor.bindings` fills it once the ops exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[..., Any]


class TensorOperators:
    """One attribute for each function that a method of a variable calls.

    Those that are not set are the functions of ``phintys.tensor``, looked up when they are first
    called.
    """

    def __getattr__(self, name: str) -> Any:
        if name == "namespace" or name not in TensorOperators.__annotations__:
            msg = f"The operators of variables have no function {name!r}."
            raise AttributeError(msg, name=name, obj=self)
        function = getattr(self.namespace, name)
        setattr(self, name, function)
        return function

    ufuncs: dict[Any, Function]
    """What NumPy's ufuncs mean for a variable."""

    numpy_protocol: Any
    """The module that says what calls of NumPy's functions mean, imported when it is needed."""

    symbolic_shapes: Any
    """The class of symbolic sizes, in which the shape rules of Ops compute."""

    namespace: Any
    """``phintys.tensor``, whose functions NumPy's stand for."""

    abs: Function
    add: Function
    all: Function
    any: Function
    argmax: Function
    argmin: Function
    argsort: Function
    as_tensor_variable: Function
    bitwise_and: Function
    bitwise_or: Function
    bitwise_xor: Function
    cast: Function
    ceil: Function
    clip: Function
    conj: Function
    copy: Function
    cumprod: Function
    cumsum: Function
    diagonal: Function
    dimshuffle: Function
    divmod: Function
    dot: Function
    equal: Function
    fill: Function
    flatten: Function
    floor: Function
    floor_div: Function
    ge: Function
    gt: Function
    imag: Function
    inc_subtensor: Function
    index: Function
    invert: Function
    le: Function
    left_shift: Function
    lt: Function
    matmul: Function
    max: Function
    mean: Function
    min: Function
    mod: Function
    mul: Function
    neg: Function
    nonzero: Function
    norm: Function
    not_equal: Function
    ones_like: Function
    pow: Function
    prod: Function
    pull_back_guarded: Function
    real: Function
    repeat: Function
    reshape: Function
    right_shift: Function
    round: Function
    set_subtensor: Function
    shape: Function
    size: Function
    sort: Function
    specify_shape: Function
    squeeze: Function
    std: Function
    sub: Function
    sum: Function
    swapaxes: Function
    take: Function
    trace: Function
    transpose: Function
    true_div: Function
    trunc: Function
    var: Function
    zeros_like: Function


operators = TensorOperators()
