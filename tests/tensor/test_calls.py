"""Calls as programs of NumPy, the array API and PyTensor write them."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, TypeContractError
from phintys.graph.equality import equal_computations

X = pt.dmatrix("x")
V = pt.dvector("v")

SAME = {
    "astype": (lambda: X.astype("float32", copy=False), lambda: pt.cast(X, "float32")),
    "pt.astype": (lambda: pt.astype(X, "float32", device="cpu"), lambda: pt.cast(X, "float32")),
    "asarray": (lambda: pt.asarray(X, dtype="float32", copy=None), lambda: pt.cast(X, "float32")),
    "reshape": (lambda: pt.reshape(X, (2, 3), copy=True), lambda: pt.reshape(X, (2, 3))),
    "reshape in Fortran's order": (
        lambda: np.reshape(X, (2, 3), order="F"),
        lambda: pt.reshape(X.T, pt.constant(np.array([2, 3]))[::-1]).T,
    ),
    "prod": (lambda: X.prod(no_zeros_in_input=True), X.prod),
    "matmul": (
        lambda: pt.matmul(X, X, dtype="complex128"),
        lambda: pt.matmul(pt.cast(X, "complex128"), pt.cast(X, "complex128")),
    ),
    "broadcast_shape": (
        lambda: pt.broadcast_shape(pt.constant([2, 1]), (1, 3), arrays_are_shapes=True),
        lambda: pt.broadcast_shape((2, 1), (1, 3)),
    ),
    "round": (lambda: X.round("half_away_from_zero"), lambda: pt.round_half_away(X)),
    "linspace": (
        lambda: pt.linspace(0, 1, 5, True, False, "float32", 0),
        lambda: pt.linspace(0, 1, 5, dtype="float32"),
    ),
    "nonzero": (lambda: X.nonzero(return_matrix=True), lambda: pt.nonzero(X, True)),
    "set": (lambda: X[0].set(1.0, inplace=False), lambda: X[0].set(1.0)),
    "inc": (lambda: X[0].inc(1.0, ignore_duplicates=True), lambda: X[0].inc(1.0)),
    "size": (lambda: np.size(X, 1), lambda: pt.shape_i(X, 1)),
    "split": (
        lambda: pt.split(V, indices_or_sections=[1, 2]),
        lambda: pt.array_split(V, [1, 2]),
    ),
    "np.modf": (lambda: np.modf(X), lambda: pt.modf(X)),
    "np.float_power": (lambda: np.float_power(X, 2), lambda: pt.float_power(X, 2)),
    "np.copy": (lambda: np.copy(a=X), lambda: pt.copy(X)),
    "np.split": (lambda: np.split(V, [1, 2]), lambda: pt.array_split(V, [1, 2])),
    "np.sum": (lambda: np.sum(a=X, axis=0), lambda: pt.sum(X, 0)),
    "np.quantile": (lambda: np.quantile(a=V, q=0.5), lambda: pt.quantile(V, 0.5)),
    "np.zeros_like": (lambda: np.zeros_like(a=X, device="cpu"), lambda: pt.zeros_like(X)),
    "concat": (lambda: pt.concat([X, X], axis=1), lambda: pt.concatenate([X, X], 1)),
    "permute_dims": (lambda: pt.permute_dims(X, (1, 0)), lambda: X.T),
    "item": (X.item, lambda: X.reshape(())),
    "item at": (lambda: X.item(1, 2), lambda: X[1, 2]),
    "item of all": (lambda: X.item(1), lambda: X.flatten()[1]),
    "to_device": (lambda: X.to_device("cpu"), lambda: X),
    "iscomplex": (lambda: pt.iscomplex(X), lambda: pt.full_like(X, False, "bool")),
}


@pytest.mark.parametrize("name", SAME)
def test_means_the_same(name):
    found, expected = (make() for make in SAME[name])
    several = isinstance(found, list | tuple)
    assert equal_computations(*((list(x) if several else [x]) for x in (found, expected)))


def test_equal_parts():
    parts = pt.split(V, indices_or_sections=2)
    assert [part.eval({V: np.arange(4.0)}).tolist() for part in parts] == [[0, 1], [2, 3]]
    with pytest.raises(ArgumentError, match="either"):
        pt.split(V)


def test_types_take_a_shape():
    assert pt.dmatrix("x", shape=(2, 3)).type == pt.TensorType("float64", (2, 3))
    assert pt.alloc(0.0, 2, name="zeros").name == "zeros"
    assert pt.tensor("x", broadcastable=(True, False)).type.shape == (1, None)
    with pytest.raises(TypeContractError, match="does not fit"):
        pt.dmatrix("x", shape=(2,))


def test_the_namespace():
    info = pt.__array_namespace_info__()
    assert X.__array_namespace__(api_version="2024.12") is pt
    assert list(info.dtypes(kind="complex floating")) == ["complex64", "complex128"]
    assert X.device in info.devices()
    with pytest.raises(ArgumentError, match="2025"):
        X.__array_namespace__(api_version="1999.12")
    with pytest.raises(ArgumentError, match="the only one"):
        pt.zeros(3, device="gpu")


def test_what_computes_a_variable():
    assert (V + X).owner_op_and_inputs[2] is X
    assert V.owner_op is None
    assert V.owner_op_and_inputs == (None,)
    assert V.dprint(file="str") == phintys.debugprint(V, file="str")


class OnlyDLPack:
    """An array of a library that NumPy knows through DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_arrays_through_dlpack():
    given = OnlyDLPack(np.arange(3.0))
    double = phintys.function([V], V * 2)
    np.testing.assert_array_equal(double(given), [0, 2, 4])
    np.testing.assert_array_equal(pt.from_dlpack(given).data, [0, 1, 2])
    np.testing.assert_array_equal((V * given).eval({V: [1, 2, 3]}), [0, 2, 6])
