"""The constructors of variables: every name, what it makes, and wrong arguments."""

import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import TypeContractError
from phintys.tensor import constructors
from phintys.tensor.constructors import Several
from phintys.tensor.type import TensorType

LETTERS = {
    "b": "int8",
    "w": "int16",
    "i": "int32",
    "l": "int64",
    "f": "float32",
    "d": "float64",
    "c": "complex64",
    "z": "complex128",
}
SHAPES = {
    "scalar": (),
    "vector": (None,),
    "matrix": (None, None),
    "row": (1, None),
    "col": (None, 1),
    **{f"tensor{ndim}": (None,) * ndim for ndim in range(3, 8)},
}
PLURALS = {"matrix": "matrices"}


def _plural(name):
    return PLURALS.get(name, f"{name}s")


def test_all_names_are_of_the_scheme():
    names = {"tensor", *SHAPES, *map(_plural, SHAPES)}
    names |= {letter + name for letter in LETTERS for name in SHAPES}
    names |= {letter + _plural(name) for letter in LETTERS for name in SHAPES}
    assert names == set(constructors.__all__) - {"Several"}
    for name in names:
        assert getattr(pt, name) is getattr(constructors, name)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("name", SHAPES)
def test_types_of_a_letter(letter, name):
    type_ = getattr(pt, letter + name)
    assert type_ is TensorType(LETTERS[letter], SHAPES[name])
    x = type_("x")
    assert (x.name, x.type) == ("x", type_)
    assert type_().name is None
    y, z = getattr(pt, letter + _plural(name))("y", "z")
    assert (y.name, z.name) == ("y", "z")
    assert y.type is z.type is type_


@pytest.mark.parametrize("name", SHAPES)
def test_of_any_dtype(name):
    make = getattr(pt, name)
    assert make("x").type is TensorType("float64", SHAPES[name])
    assert make().name is None
    assert make("x", dtype="int8").type is TensorType("int8", SHAPES[name])
    with phintys.config.change_flags(floatX="float32"):
        assert make("x").dtype == "float32"
        assert make("x", dtype="floatX").dtype == "float32"
        assert [v.dtype for v in getattr(pt, _plural(name))(2)] == ["float32"] * 2


@pytest.mark.parametrize("name", SHAPES)
def test_with_a_shape(name):
    known = tuple(3 if size is None else size for size in SHAPES[name])
    x = getattr(pt, name)("x", shape=known, dtype="int16")
    assert x.type is TensorType("int16", known)
    (y,) = getattr(pt, _plural(name))("y", shape=known)
    assert y.type.shape == known


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (pt.vector, (2, 3)),
        (pt.row, (2, 3)),
        (pt.col, (2, 3)),
        (pt.scalar, (1,)),
        (pt.row, (None, 3)),
    ],
)
def test_with_a_shape_that_does_not_fit(make, shape):
    with pytest.raises(TypeContractError, match=r"Expected a shape of the form .* got"):
        make("x", shape=shape)


def test_tensor():
    x = pt.tensor("x", shape=(None, 2), dtype="bool")
    assert (x.name, x.type) == ("x", TensorType("bool", (None, 2)))
    assert pt.tensor(shape=()).dtype == "float64"
    with pytest.raises(TypeContractError, match=r"needs the rank: .*tensor\('x', shape="):
        pt.tensor("x")


def test_dtypes_are_no_positional_arguments():
    with pytest.raises(TypeError):
        pt.vector("x", "int8")
    with pytest.raises(TypeContractError, match="Tensors do not take the dtype"):
        pt.vector("x", dtype="text")


def test_several():
    assert isinstance(pt.dscalars, Several)
    assert [x.name for x in pt.vectors("a", None, "b")] == ["a", None, "b"]
    assert len(pt.lmatrices(3)) == 3
    assert pt.dscalars(0) == []
    assert repr(pt.dscalars) == "<constructor dscalars>"
    one, two = pt.matrices("a", "b", dtype="int8")
    assert one.dtype == two.dtype == "int8"


@pytest.mark.parametrize("names", [(), (2.0,), (True,), ("a", 2), (["a", "b"],), (1, 2)])
def test_several_of_what(names):
    with pytest.raises(TypeContractError, match=r"dscalars takes names, or one int, how many"):
        pt.dscalars(*names)


def test_all_is_sorted_and_complete():
    assert len(set(constructors.__all__)) == len(constructors.__all__) == 182
