"""Einstein's notation: what it means, and which products it becomes."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ShapeError
from phintys.graph import ancestors
from phintys.tensor.contractions.notation import parse
from phintys.tensor.contractions.products import MOST_SEARCHED, best_order, greedy_order


def _ops(out):
    return [type(v.owner.op).__name__ for v in ancestors([out]) if v.owner is not None]


@pytest.mark.parametrize(
    ("given", "terms", "output"),
    [
        (["ij, jk"], ["ij", "jk"], "ik"),
        (["ij,jk -> ki"], ["ij", "jk"], "ki"),
        (["ba"], ["ba"], "ab"),
        (["ii"], ["ii"], ""),
        ([[0, 1], [1, 2]], ["ab", "bc"], "ac"),
        ([[2, 1], [1, 0], [0, 2]], ["cb", "ba"], "ac"),
    ],
)
def test_labels_of_the_result(given, terms, output):
    operands = [pt.tensor("x", shape=(None,) * len(term)) for term in terms]
    if isinstance(given[0], str):
        arguments = [given[0], *operands]
    else:
        arguments = [one for pair in zip(operands, given, strict=False) for one in pair]
        arguments += given[len(operands) :]
    found = parse(arguments)
    assert ["".join(term) for term in found.terms] == terms
    assert "".join(found.output) == output


def test_axes_of_an_ellipsis_come_first_and_align_at_the_right():
    x, y = pt.tensor("x", shape=(5, 1, 3)), pt.tensor("y", shape=(4, 3, 2))
    out = pt.einsum("...i,...ij", x, y)
    assert out.type.shape == (5, 4, 2)
    assert pt.einsum(x, [..., 0], y, [..., 0, 1], [1, ...]).type.shape == (2, 5, 4)


def test_it_is_made_of_products_alone():
    x, y = pt.tensor3("x"), pt.tensor3("y")
    assert "BatchedDot" in _ops(pt.einsum("bij,bjk->bik", x, y))
    assert {"Dot"} == set(_ops(pt.einsum("ij,kj->ik", pt.matrix("a"), pt.matrix("b")))) - {
        "DimShuffle"
    }
    assert {"Elemwise", "Reduce"} == set(_ops(pt.einsum("bij,bij->b", x, y))) - {"DimShuffle"}


def test_transposes_are_passed_to_the_product():
    q, k = pt.tensor4("q"), pt.tensor4("k")
    f = phintys.function([q, k], pt.einsum("bqhd,bkhd->bhqk", q, k), mode="native")
    assert f.explain().splitlines()[0].startswith("1 call,")


def test_the_order_is_that_of_the_least_work():
    sizes = {"i": 100, "j": 100, "k": 100, "l": 1000}
    assert best_order(["ij", "jk", "kl", "l"], "i", sizes) == [(2, 3), (1, 2), (0, 1)]
    assert best_order(["i", "ij", "jk"], "k", sizes) == [(0, 1), (0, 1)]
    wide = {"i": 2, "j": 1000, "k": 2, "l": 1000}
    assert best_order(["ij", "jk", "kl"], "il", wide) == [(0, 1), (0, 1)]
    assert best_order(["ij", "jk", "kl"], "il", dict.fromkeys("ijk", 1000) | {"l": 2}) == [
        (1, 2),
        (0, 1),
    ]


def test_unknown_sizes_are_of_a_class_between_small_and_large():
    terms, output = ["ij", "jk", "kl"], "il"
    unknown = dict.fromkeys("ijk")
    assert best_order(terms, output, unknown | {"l": 2}) == [(1, 2), (0, 1)]
    assert best_order(terms, output, unknown | {"l": 5000}) == [(0, 1), (0, 1)]


def test_many_operands_are_multiplied_greedily():
    letters = "abcdefghijklmnopqrstuvwxyz"
    terms = [letters[at : at + 2] for at in range(25)]
    order = best_order(terms, "az", dict.fromkeys(letters, 3))
    assert len(terms) > MOST_SEARCHED
    assert order == greedy_order(terms, "az", dict.fromkeys(letters, 3))
    assert len(order) == 24


@pytest.mark.parametrize("optimize", [True, False, "greedy", "optimal", ["einsum_path", (0, 1, 2)]])
def test_every_order_has_the_same_result(optimize):
    rng = np.random.default_rng(0)
    values = [rng.normal(size=shape) for shape in [(2, 3), (3, 4), (4, 2)]]
    out = pt.einsum("ij,jk,kl->li", *map(pt.constant, values), optimize=optimize)
    expected = np.einsum("ij,jk,kl->li", *values)
    np.testing.assert_allclose(out.eval(mode="reference"), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "error", "fragments"),
    [
        ((), ArgumentError, ["notation", "ij,jk->ik"]),
        (("ij,jk", "x"), ArgumentError, ["2 operands, got 1"]),
        (("ij", "x", "x"), ArgumentError, ["1 operands, got 2"]),
        (("ij->ik", "x"), ArgumentError, ["'k'", "no term"]),
        (("ij->ii", "x"), ArgumentError, ["'i' is twice"]),
        (("i1", "x"), ArgumentError, ["'1'", "letter"]),
        (("i..j", "x"), ArgumentError, ["'.'", "ellipsis"]),
        (("...i->i", "x"), ArgumentError, ['"...i"']),
        (("ijk", "x"), ShapeError, ["3 axes", "x", "Matrix"]),
        (("i", "x"), ShapeError, ["1 axes", "x"]),
        (("ij...k", "x"), ShapeError, ["3 axes or more"]),
        (("ij,ij", "x", "y"), ShapeError, ["'i'", "x, shape (2, 3)", "y, shape (4, 5)"]),
        (("ii", "x"), ShapeError, ["'i'", "x, shape (2, 3)"]),
        (("ii", "row"), ShapeError, ["'i'", "row", "1 and 3"]),
        (("x", [0, 99]), ArgumentError, ["0 to 51", "99"]),
        (("x", ["i", "j"]), ArgumentError, ["numbers", "'i'"]),
    ],
)
def test_what_is_wrong_is_named(arguments, error, fragments):
    shapes = {"x": (2, 3), "y": (4, 5), "row": (1, 3)}
    known = {name: pt.tensor(name, shape=shape) for name, shape in shapes.items()}
    given = [known.get(one, one) if isinstance(one, str) else one for one in arguments]
    with pytest.raises(error) as caught:
        pt.einsum(*given)
    assert all(fragment in str(caught.value) for fragment in fragments), caught.value


def test_an_order_that_does_not_fit_is_refused():
    x = pt.matrix("x")
    for optimize in [[(0, 1)], [(0, 0), (0, 1)], [(0, 3), (0, 1)], "best", [0, 1]]:
        with pytest.raises(ArgumentError, match="optimize is None"):
            pt.einsum("ij,jk,kl", x, x, x, optimize=optimize)


def test_sizes_are_checked_when_it_runs():
    # The products of sizes agree; in BLAS all would be well.
    x, y = pt.tensor3("x"), pt.tensor3("y")
    f = phintys.function([x, y], [pt.einsum("ijk,ijl->kl", x, y), pt.einsum("iij->j", y)])
    a, b = np.ones((2, 2, 3)), np.ones((2, 2, 4))
    np.testing.assert_allclose(f(a, b)[0], np.full((3, 4), 4.0))
    with pytest.raises(ShapeError):
        f(np.ones((2, 6, 3)), np.ones((6, 2, 4)))
    with pytest.raises(ShapeError):
        f(np.ones((2, 3, 3)), np.ones((2, 3, 4)))
