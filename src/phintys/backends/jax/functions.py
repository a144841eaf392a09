"""Functions of JAX on flat lists of arrays, with their derivatives and batches.

They compare by what they are made of and can be pickled, so that Ops made of them can be merged and
sent. Derivatives of derivatives are functions of the same kinds.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter
from types import FunctionType
from typing import Any, Protocol

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError, PhintysError, add_note
from phintys._base.nested_containers import kinds, rebuilt, walk
from phintys._base.records import record
from phintys._base.uninterrupted import import_whole
from phintys.backends.jax.requirement import library, with_64_bits
from phintys.tensor.type import TensorType

_GUESSES = (2, 3, 1)
"""Lengths that stand for those that are not known when a function is traced for its types."""

Types = tuple[TensorType, ...]
Shapes = Sequence[tuple[Any, ...]]


class JaxFunction(Protocol):
    """A function of JAX arrays that returns a tuple of them."""

    @property
    def name(self) -> str:
        """What errors and graphs call it."""
        ...

    def __call__(self, *arrays: Any) -> tuple[Any, ...]: ...

    def output_types(self, given: Types) -> Types:
        """Return the types of the results for types of the arguments."""
        ...

    def known_shapes(self, shapes: Shapes) -> list[tuple[Any, ...]] | None:
        """Return the shapes of the results if they are those of arguments, else ``None``."""
        ...


# ---- trees ---------------------------------------------------------------------------------------


class TreeForm:
    """A tree of arguments without the arrays; it is compared by its containers and paths.

    Parameters
    ----------
    tree
        A tree. ``None`` and strings in it belong to the form, all other leaves are arrays.

    Examples
    --------
    >>> from phintys.backends.jax.functions import TreeForm
    >>> form = TreeForm({"w": 1.0, "how": "fast"})
    >>> form.filled([2.0])
    {'w': 2.0, 'how': 'fast'}
    >>> form == TreeForm({"w": 3.0, "how": "fast"}), form == TreeForm({"w": 3.0})
    (True, False)
    """

    def __init__(self, tree: Any) -> None:
        count = iter(range(sys.maxsize))
        leaves = [(path, self._kept(leaf, count)) for path, leaf in walk(tree)]
        self._tree = rebuilt(tree, (leaf for _, leaf in leaves))
        self._key = (tuple(leaves), tuple(kinds(tree)))

    @staticmethod
    def _kept(leaf: Any, count: Any) -> Any:
        return leaf if is_part_of_form(leaf) else _Place(next(count))

    def filled(self, arrays: Sequence[Any]) -> Any:
        """Return the tree around arrays."""
        return rebuilt(
            self._tree,
            (arrays[one.at] if isinstance(one, _Place) else one for _, one in walk(self._tree)),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeForm) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


class _Place:
    """The place of an array in a tree."""

    def __init__(self, at: int) -> None:
        self.at = at

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Place) and self.at == other.at

    def __hash__(self) -> int:
        return hash(self.at)


def is_part_of_form(leaf: Any) -> bool:
    """Return whether a leaf of arguments is not an array: it is ``None`` or a string."""
    return leaf is None or isinstance(leaf, str)


# ---- the functions -------------------------------------------------------------------------------


@record(frozen=True)
class OfTrees:
    """A user's function, of arrays in the order of the leaves of its arguments."""

    function: Callable[..., Any]
    form: TreeForm
    promised: Types | None = None
    """The types of the results, where the user states them."""

    @property
    def name(self) -> str:
        """What the user calls it."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        return self.flat(self.called(arrays))

    def called(self, arrays: Sequence[Any]) -> Any:
        """Return the result of the user's function, a tree."""
        args, kwargs = self.form.filled(arrays)
        return self.function(*args, **kwargs)

    def flat(self, result: Any) -> tuple[Any, ...]:
        """Return the arrays in a result."""
        return tuple(self._checked(path, leaf) for path, leaf in walk(result))

    def _checked(self, path: str, leaf: Any) -> Any:
        if isinstance(leaf, bool | int | float | complex | np.ndarray | np.generic):
            return library().numpy.asarray(leaf)
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            place = f" at {path}" if path else ""
            msg = (
                f"from_jax: {self.name} must return an array, or a tree of them made of dicts, "
                f"lists, tuples and dataclasses; it returned {leaf!r} of type "
                f"{type(leaf).__name__}{place}."
            )
            raise ArgumentError(msg)
        return leaf

    def output_types(self, given: Types) -> Types:
        return self.promised if self.promised is not None else traced_results(self, given)[0]

    def known_shapes(self, shapes: Shapes) -> list[tuple[Any, ...]] | None:
        return None

    def __reduce__(self) -> tuple[Any, ...]:
        return OfTrees, (_sent(self.function, self.name), self.form, self.promised)


@record(frozen=True)
class Pull:
    """The gradients of some arguments of a function, given the arguments and those of results."""

    function: JaxFunction
    count: int
    """Number of the arguments."""
    wrt: tuple[int, ...]
    of: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"vjp of {self.function.name}"

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        jax = library()
        given, gradients = list(arrays[: self.count]), arrays[self.count :]

        def some(*varied: Any) -> tuple[Any, ...]:
            results = self.function(*_with(given, self.wrt, varied))
            return tuple(results[at] for at in self.of)

        values, pull = jax.vjp(some, *(jax.numpy.asarray(given[at]) for at in self.wrt))
        # JAX transposes; a gradient with respect to complex numbers is the adjoint.
        cotangents = (
            jax.numpy.conj(jax.numpy.asarray(gradient, value.dtype))
            for gradient, value in zip(gradients, values, strict=True)
        )
        return tuple(jax.numpy.conj(one) for one in pull(tuple(cotangents)))

    def output_types(self, given: Types) -> Types:
        return tuple(given[at] for at in self.wrt)

    def known_shapes(self, shapes: Shapes) -> list[tuple[Any, ...]] | None:
        return [shapes[at] for at in self.wrt]


@record(frozen=True)
class Push:
    """The tangents of some results of a function, given the arguments and tangents of some."""

    function: JaxFunction
    count: int
    along: tuple[int, ...]
    of: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"jvp of {self.function.name}"

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        jax = library()
        given, tangents = list(arrays[: self.count]), arrays[self.count :]

        def some(*varied: Any) -> tuple[Any, ...]:
            results = self.function(*_with(given, self.along, varied))
            return tuple(results[at] for at in self.of)

        at = tuple(jax.numpy.asarray(given[at]) for at in self.along)
        directions = tuple(
            jax.numpy.asarray(tangent, one.dtype) for tangent, one in zip(tangents, at, strict=True)
        )
        return jax.jvp(some, at, directions)[1]

    def output_types(self, given: Types) -> Types:
        types = self.function.output_types(given[: self.count])
        return tuple(types[at] for at in self.of)

    def known_shapes(self, shapes: Shapes) -> list[tuple[Any, ...]] | None:
        known = self.function.known_shapes(shapes[: self.count])
        return None if known is None else [known[at] for at in self.of]


@record(frozen=True)
class Mapped:
    """A function of an item, for a batch of items along further first axes."""

    function: JaxFunction
    batched: tuple[bool, ...]
    """Which arguments have the axes of the batch."""
    ndim: int
    """Number of these axes."""

    @property
    def name(self) -> str:
        return f"vmap of {self.function.name}"

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        axes = tuple(0 if one else None for one in self.batched)
        mapped: Any = self.function
        for _ in range(self.ndim):
            mapped = library().vmap(mapped, in_axes=axes)
        return tuple(mapped(*arrays))

    def output_types(self, given: Types) -> Types:
        items = tuple(
            one.clone(shape=one.shape[self.ndim :]) if is_batched else one
            for one, is_batched in zip(given, self.batched, strict=True)
        )
        batch = next(
            one.shape[: self.ndim]
            for one, is_batched in zip(given, self.batched, strict=True)
            if is_batched
        )
        return tuple(
            one.clone(shape=(*batch, *one.shape)) for one in self.function.output_types(items)
        )

    def known_shapes(self, shapes: Shapes) -> list[tuple[Any, ...]] | None:
        return None


def _with(given: list[Any], places: Sequence[int], values: Sequence[Any]) -> list[Any]:
    new = list(given)
    for at, value in zip(places, values, strict=True):
        new[at] = value
    return new


# ---- types and shapes ----------------------------------------------------------------------------


@lru_cache(maxsize=512)
def traced_results(function: OfTrees, given: Types) -> tuple[Types, Any]:
    """Return the types of the results of a function, and a tree of the form of its result.

    Lengths that are not known are guessed, all alike, and those of the results are then not known.

    Raises
    ------
    DtypeError
        Phintys has no such arrays, such as those of bfloat16.
    """
    is_known = all(length is not None for one in given for length in one.shape)
    trees: list[Any] = []

    def noting(*arrays: Any) -> tuple[Any, ...]:
        result = function.called(arrays)
        trees.append(rebuilt(result, (None for _ in walk(result))))
        return function.flat(result)

    first: Exception | None = None
    for guess in (0,) if is_known else _GUESSES:
        shapes = [tuple(guess if n is None else n for n in one.shape) for one in given]
        try:
            found = traced(noting, shapes, [one.dtype for one in given])
        except PhintysError:
            raise
        except Exception as error:  # noqa: BLE001 - the user's function may raise anything
            first = first or error
            continue
        return tuple(_type_of(one, is_known) for one in found), trees[-1]
    assert first is not None
    types = ", ".join(map(str, given))
    note = f"While from_jax traced {function.name} with arguments of types {types}."
    if not is_known:
        note += (
            " Lengths that are not known were taken to be equal. State them, as in "
            'pt.tensor("x", shape=(3, 4)) or phintys.shared(value, shape=value.shape), or the '
            "types of the results: from_jax(fn, otypes=...)."
        )
    add_note(first, note)
    raise first


def traced(function: Any, shapes: Sequence[Any], dtypes: Sequence[str]) -> Any:
    """Return the shapes and dtypes of the results of a function, by ``jax.eval_shape``."""
    with with_64_bits():
        jax = library()
        given = map(jax.ShapeDtypeStruct, shapes, dtypes)
        return jax.eval_shape(function, *given)


def _type_of(result: Any, is_known: bool) -> TensorType:
    name = str(result.dtype)
    try:
        return TensorType(name, result.shape if is_known else (None,) * len(result.shape))
    except (TypeError, ValueError) as error:
        msg = (
            f"from_jax: the function returns an array of dtype {name}, which tensors of Phintys "
            "cannot have. Convert it in the function, as in y.astype('float32')."
        )
        raise DtypeError(msg) from error


# ---- pickles -------------------------------------------------------------------------------------


def _sent(function: Any, name: str) -> Any:
    """Return a function as pickle takes it: by its name if it has one in a module."""
    module = getattr(function, "__module__", None)
    qualname = getattr(function, "__qualname__", "")
    try:
        found = attrgetter(qualname)(sys.modules.get(str(module)))
    except AttributeError:
        found = None
    if isinstance(function, FunctionType):
        if found is not function:
            msg = (
                f"from_jax: {name} cannot be pickled, since it is a lambda or is defined inside of "
                "another function. Define it with def at the top level of a module, and bind "
                "values with functools.partial."
            )
            raise pickle.PicklingError(msg)
        return function
    # A function of jax.jit pickles as the function inside, which the name does not mean.
    return _Named(str(module), qualname) if found is function else function


class _Named:
    """An object that is pickled by its name."""

    def __init__(self, module: str, qualname: str) -> None:
        self._of = module, qualname

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, self._of


def _named(module: str, qualname: str) -> Any:
    from_module: Any = sys.modules.get(module) or import_whole(module)
    return attrgetter(qualname)(from_module)
