"""Theano's random streams, and the classes of Aesara and PyTensor with their older arguments."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.random as new
import phintys.tensor as pt
from phintys._base.config import config
from phintys._base.errors import ArgumentError, DomainError
from phintys.compat.argument_orders import scale_of, square_root
from phintys.compat.methods import add_methods
from phintys.gradient import disconnected_grad
from phintys.graph.variable import Variable
from phintys.tensor.creation import as_sizes
from phintys.tensor.observing import CheckAndRaise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.shared_variable import SharedVariable

__all__ = [
    "MRG_RandomStreams",
    "RandomStream",
    "RandomStreams",
    "RandomVariable",
    "custom_rng_deepcopy",
]


class RandomStreams:
    """Theano's streams: the size comes first, and a draw knows its generator and its update.

    ``nstreams`` and ``target`` have no effect.

    Parameters
    ----------
    seed
        An int, or ``None`` for fresh entropy.

    Examples
    --------
    >>> import phintys
    >>> from phintys.compat.random_streams import RandomStreams
    >>> srng = RandomStreams(seed=234)
    >>> draw = srng.uniform((2, 2))
    >>> f = phintys.function([], draw)
    >>> bool((f() == f()).any()), draw.update[0] is draw.rng
    (False, True)
    """

    def __init__(self, seed: Any = None) -> None:
        self.default_instance_seed = seed
        self._stream: Any = new.RandomStream(seed)

    def seed(self, seed: Any = None) -> None:
        """Reset the states of all generators."""
        self._stream.seed(self.default_instance_seed if seed is None else seed)

    @property
    def state_updates(self) -> list[tuple[SharedVariable, Any]]:
        """The generators and their next states."""
        return self._stream.updates()

    def updates(self) -> list[tuple[SharedVariable, Any]]:
        """Return the generators and their next states."""
        return self._stream.updates()

    def _draw(self, name: str, *parameters: Any, size: Any, ndim: Any, dtype: Any) -> Any:
        draw = self._stream.gen(name, *parameters, size=_size(size, ndim), dtype=dtype)
        return self._known(draw)

    def _known(self, draw: Any) -> Any:
        """Return a draw that knows its generator and its update."""
        draw.update = self._stream.updates()[-1]
        draw.rng = draw.update[0]
        return draw

    def uniform(
        self,
        size: Any = None,
        low: Any = 0.0,
        high: Any = 1.0,
        ndim: int | None = None,
        dtype: Any = None,
        nstreams: Any = None,
        target: Any = None,
    ) -> Any:
        """Draw from the uniform distribution."""
        kind = _floats(dtype, low, high)
        return self._draw("uniform", low, high, size=size, ndim=ndim, dtype=kind)

    def normal(
        self,
        size: Any = None,
        avg: Any = 0.0,
        std: Any = 1.0,
        ndim: int | None = None,
        dtype: Any = None,
        nstreams: Any = None,
        truncate: bool = False,
        target: Any = None,
    ) -> Any:
        """Draw from the normal distribution; truncated at two standard deviations if asked."""
        if truncate:
            return self.truncated_normal(size, avg, std, ndim, dtype, nstreams)
        kind = _floats(dtype, avg, std)
        return self._draw("normal", avg, std, size=size, ndim=ndim, dtype=kind)

    def truncated_normal(
        self,
        size: Any = None,
        avg: Any = 0.0,
        std: Any = 1.0,
        ndim: int | None = None,
        dtype: Any = None,
        nstreams: Any = None,
        target: Any = None,
    ) -> Any:
        """Draw from the normal distribution between two standard deviations about the mean."""
        kind = _floats(dtype, avg, std)
        lowest = 0.022750131948179212  # the normal distribution's probability below -2
        q = self._draw("uniform", lowest, 1 - lowest, size=size, ndim=ndim, dtype=kind)
        return self._known(new.icdf(new.Normal(avg, std), q).astype(kind))

    def binomial(
        self,
        size: Any = None,
        n: Any = 1,
        p: Any = 0.5,
        ndim: int | None = None,
        dtype: Any = "int64",
        nstreams: Any = None,
        prob: Any = None,
        target: Any = None,
    ) -> Any:
        """Draw how many of ``n`` trials succeed."""
        p = p if prob is None else prob
        if isinstance(n, int) and n == 1:
            return self._draw("bernoulli", p, size=size, ndim=ndim, dtype=dtype)
        return self._draw("binomial", n, p, size=size, ndim=ndim, dtype=dtype)

    def poisson(
        self, size: Any = None, lam: Any = None, ndim: int | None = None, dtype: Any = "int64"
    ) -> Any:
        """Draw from the Poisson distribution."""
        lam = 1.0 if lam is None else lam
        return self._draw("poisson", lam, size=size, ndim=ndim, dtype=dtype)

    def random_integers(
        self,
        size: Any = None,
        low: Any = 0,
        high: Any = 1,
        ndim: int | None = None,
        dtype: Any = "int64",
    ) -> Any:
        """Draw integers from ``low`` to ``high``, both included."""
        high = pt.as_tensor_variable(high) + 1
        return self._draw("integers", low, high, size=size, ndim=ndim, dtype=dtype)

    def choice(
        self,
        size: Any = None,
        a: Any = 2,
        replace: bool = True,
        p: Any = None,
        ndim: int | None = None,
        dtype: Any = "int64",
        nstreams: Any = None,
        target: Any = None,
    ) -> Any:
        """Draw entries of a vector, or integers below ``a``."""
        options = {"size": _size(size, ndim), "replace": replace, "p": p}
        found = self._stream.gen("choice", a, **options)
        return self._known(found.astype(dtype) if found.dtype.startswith("int") else found)

    def permutation(
        self, size: Any = None, n: Any = 1, ndim: int | None = None, dtype: Any = "int64"
    ) -> Any:
        """Draw random orders of the integers below ``n``, one for each element of ``size``."""
        lengths = () if size is None else tuple(as_sizes(_size(size, ndim)))
        u = self._stream.uniform(size=(*lengths, n))
        return self._known(pt.argsort(u, axis=-1).astype(dtype))

    def shuffle_row_elements(self, input: Any) -> Any:
        """Return a matrix with the elements of each row in random order, or a vector."""
        rows = pt.as_tensor_variable(input)
        u = self._stream.uniform(size=rows.shape)
        return self._known(pt.take_along_axis(rows, pt.argsort(u, axis=-1), axis=-1))

    def multinomial(
        self,
        size: Any = None,
        n: Any = 1,
        pvals: Any = (0.5, 0.5),
        ndim: int | None = None,
        dtype: Any = "int64",
        nstreams: Any = None,
        target: Any = None,
    ) -> Any:
        """Draw how often ``n`` trials have each result, for each row of probabilities."""
        options = {"size": _size(size, ndim), "dtype": dtype}
        return self._known(self._stream.gen("multinomial", n, pvals, **options))


class RandomStream(new.RandomStream):
    """The streams of Aesara and PyTensor.

    Parameters
    ----------
    seed, namespace
        As those of :class:`phintys.random.RandomStream`.
    rng_ctor
        As there; ``numpy.random.RandomState``, whose states cannot be variables, means the default
        generators.

    Examples
    --------
    >>> from phintys.compat.random_streams import RandomStream
    >>> srng = RandomStream(seed=234)
    >>> draw = srng.uniform(0, 1, size=(2, 2), name="draw")
    >>> len(srng.state_updates), srng.default_instance_seed
    (1, 234)
    """

    def __init__(self, seed: Any = None, namespace: Any = None, rng_ctor: Any = None) -> None:
        self.default_instance_seed = seed
        self.rng_ctor = rng_ctor
        is_legacy = rng_ctor is np.random.RandomState
        super().__init__(seed, namespace, None if is_legacy else rng_ctor)

    def seed(self, seed: Any = None) -> None:
        """Reset the states of all generators, by default from the seed of the stream."""
        super().seed(self.default_instance_seed if seed is None else seed)

    def gamma(
        self, shape: Any, rate: Any = None, scale: Any = None, size: Any = None, **named: Any
    ) -> Any:
        """Draw from the gamma distribution: its second parameter is the rate."""
        return self.gen("gamma", shape, scale_of(rate, scale), size=size, **named)

    def multivariate_normal(
        self, mean: Any, cov: Any, size: Any = None, method: str | None = None, **named: Any
    ) -> Any:
        """Draw from the multivariate normal distribution, whose covariance may be singular."""
        if self.rng_ctor not in {None, np.random.RandomState}:  # NumPy draws
            return self.gen("multivariate_normal", mean, cov, size=size, **named)
        root = square_root(cov)
        return self.gen("multivariate_normal", mean, None, size=size, chol=root, **named)

    @property
    def state_updates(self) -> list[tuple[SharedVariable, Any]]:
        """The generators and their next states."""
        return self.updates()


class MRG_RandomStreams(RandomStreams):
    """Theano's streams of another generator: probabilities may be a matrix, a row for each draw.

    Parameters
    ----------
    seed
        An int or six of them, or ``None`` for fresh entropy.
    use_cuda
        Has no effect.
    """

    def __init__(self, seed: Any = 12345, use_cuda: Any = None) -> None:
        super().__init__(seed)

    def binomial(
        self,
        size: Any = None,
        n: Any = 1,
        p: Any = 0.5,
        ndim: int | None = None,
        dtype: Any = "int64",
        nstreams: Any = None,
        prob: Any = None,
        target: Any = None,
    ) -> Any:
        """Draw how many of ``n`` trials succeed; the gradient for ``p`` is zero."""
        p = disconnected_grad(pt.as_tensor_variable(p if prob is None else prob))
        return super().binomial(size, n, p, ndim, dtype)

    def choice(
        self,
        size: Any = None,
        a: Any = 2,
        replace: bool = True,
        p: Any = None,
        ndim: int | None = None,
        dtype: Any = "int64",
        nstreams: Any = None,
        target: Any = None,
    ) -> Any:
        """Draw entries of a vector, or different columns of each row of probabilities."""
        if p is None or pt.as_tensor_variable(p).ndim != 2:
            return super().choice(size, a, replace, p, ndim, dtype)
        if replace:
            msg = "choice: of a matrix of probabilities, draws are without replacement."
            raise ArgumentError(msg)
        return self.multinomial_wo_replacement(n=size, pvals=p, dtype=dtype)

    def multinomial_wo_replacement(
        self,
        size: Any = None,
        n: Any = 1,
        pvals: Any = None,
        replace: bool = False,
        ndim: int | None = None,
        dtype: Any = "int64",
        nstreams: Any = None,
        target: Any = None,
    ) -> Any:
        """Draw ``n`` different places of each row of probabilities.

        Raises
        ------
        DomainError
            When a function is called: a row has fewer than ``n``.
        """
        p = pt.as_tensor_variable(pvals)
        p = _enough(p, pt.le(pt.as_tensor_variable(n), p.shape[-1]))
        # The largest of log(p) plus Gumbel noise are draws without replacement.
        keys = pt.log(p) + self._stream.gumbel(size=p.shape)
        return self._known(pt.argsort(-keys, axis=-1)[..., :n].astype(dtype))


_enough = CheckAndRaise(
    DomainError,
    "A row of probabilities has fewer entries than are drawn from it without replacement. Draw "
    "with replacement, as multinomial does, or fewer.",
)


def _size(size: Any, ndim: int | None) -> Any:
    """Return a size; ``ndim`` is the length of a symbolic vector whose length is not known."""
    if ndim is None or not isinstance(size, Variable):
        return size
    return tuple(pt.as_tensor_variable(size)[dim] for dim in range(ndim))


def _floats(dtype: Any, *parameters: Any) -> str:
    """Return the dtype of draws: as asked for, or that of ``floatX`` and the parameters."""
    if dtype is not None:
        return dtype
    given = [x.dtype for x in parameters if hasattr(x, "dtype")]
    return np.result_type(config.floatX, *(one for one in given if one in _FLOATS)).name


_FLOATS = {"float32", "float64"}


class RandomVariable(new.RandomVariable):
    """An Op of draws with the older arguments: ``ndim_supp`` and ``ndims_params``."""

    ndim_supp: Any = None
    ndims_params: Any = None
    _is_of_ranks = False

    def __init__(
        self,
        name: str | None = None,
        ndim_supp: int | None = None,
        ndims_params: Sequence[int] | None = None,
        dtype: str | None = None,
        inplace: bool | None = None,
        signature: str | None = None,
    ) -> None:
        supp = type(self).ndim_supp if ndim_supp is None else ndim_supp
        params = type(self).ndims_params if ndims_params is None else ndims_params
        if signature is None and self.signature is None and None not in (supp, params):
            sides = [",".join(f"i{at}a{axis}" for axis in range(n)) for at, n in enumerate(params)]
            out = ",".join(f"o{axis}" for axis in range(supp))
            signature = f"{','.join(f'({one})' for one in sides)}->({out})"
            self._is_of_ranks = True
        super().__init__(name, signature, dtype, inplace)

    def _supp_shape_from_params(
        self,
        dist_params: Sequence[Any],
        rep_param_idx: int = 0,
        param_shapes: Sequence[Any] | None = None,
    ) -> list[Any]:
        """Return the lengths of the core axes of a draw: by default the last of a parameter's."""
        if self.signature is not None and not self._is_of_ranks:
            return super()._supp_shape_from_params(dist_params, param_shapes)
        shapes = [one.shape for one in dist_params] if param_shapes is None else param_shapes
        lengths = list(shapes[rep_param_idx])
        return lengths[len(lengths) - self.ndim_supp :]


def custom_rng_deepcopy(rng: Any) -> Any:
    """Return a copy of a generator of NumPy."""
    return copy.deepcopy(rng)


_core_filter = new.RandomType.filter


def _state_of(
    self: Any, value: Any, strict: bool = False, allow_downcast: bool | None = None
) -> Any:
    """Return a state; that of a generator of NumPy is seeded by what it would draw next."""
    if isinstance(value, np.random.Generator | np.random.RandomState):
        following = copy.deepcopy(value).bytes(8)
        value = new.state(int.from_bytes(following, "little"))
    return _core_filter(self, value, strict, allow_downcast)


add_methods(new.RandomType, {"filter": _state_of})
