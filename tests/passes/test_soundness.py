"""Every rule of the pipelines, on graphs that it matches: what it keeps.

The graphs come from the rule itself: from the examples attached to it. They
are built in several dtypes, rewritten by the one rule, and compared before and after: dtype, static
shape, values, values at NaN and infinities, and gradients. What may change where is the policy of
``docs/rewriting.md``.
"""

import numpy as np
import pytest

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.errors import PhintysError
from phintys.control import Scan
from phintys.graph import FunctionGraph
from phintys.graph.traversal import explicit_graph_inputs
from phintys.graph.verify import verify_graph
from phintys.passes.merging import merge
from phintys.passes.pipelines import all_rules, keeps_extremes, keeps_zeros
from phintys.rewriting import RewriteTrace, Worklist
from phintys.tensor.elemwise import elemwise
from phintys.testing.random_loops import make_loop

DTYPES = ("float64", "float32", "int8", "uint8", "complex128", "bool")
SHAPES = {
    **dict.fromkeys("st", ()),
    **dict.fromkeys("xyzu", (None,)),
    **dict.fromkeys("XYZ", (None, None)),
    "T": (None, None, None),
    "r": (1, None),
    "c": (None, 1),
    **dict.fromkeys(("x3", "y3"), (3,)),
    **dict.fromkeys(("X3", "Y3"), (3, 3)),
}
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.0, 0.5]


def leaves(dtype):
    """The variables that examples are made of."""
    named = {name: pt.tensor(name, dtype=dtype, shape=shape) for name, shape in SHAPES.items()}
    named.update({name: pt.lscalar(name) for name in "ijn"})
    return {**named, "b": pt.tensor("b", dtype="bool", shape=(None,)), "k": pt.lvector("k")}


def build(rule, dtype):
    """Yield (text, expression) for all that is known to match a rule, as far as dtypes allow."""
    named = leaves(dtype)
    scope = {
        "loop": make_loop,
        "pt": pt,
        "ps": ps,
        "np": np,
        "phintys": phintys,
        "elemwise": elemwise,
        **named,
    }
    for text in rule.examples:
        try:
            yield text, eval(text, scope)
        except (PhintysError, OverflowError):
            continue  # not an expression of this dtype


def value_of(variable, rng, special=False):
    shape = [3 if size is None else size for size in variable.type.shape]
    dtype = variable.type.numpy_dtype
    if variable.name in {"i", "j", "n"}:
        return np.array({"i": 1, "j": 0, "n": 3}[variable.name])
    if variable.name == "k":
        return np.array([2, 0, 2])
    if dtype.kind in "biu":
        return rng.integers(
            0 if dtype.kind in "bu" else -5, 2 if dtype.kind == "b" else 6, shape
        ).astype(dtype)
    if special:
        return rng.choice(SPECIAL, shape).astype(dtype)
    value = rng.uniform(0.2, 0.8, shape)
    if variable.name != "u":
        value = value * 2 * rng.choice([-1, 1], shape)
    return np.asarray(value + (1j * rng.normal(size=shape) if dtype.kind == "c" else 0), dtype)


def rewritten(rule, expression):
    """Return what a rule makes of an expression, and how often it was applied."""
    inputs = list(explicit_graph_inputs([expression]))
    fgraph = FunctionGraph(inputs, [expression], copy_inputs=False)
    trace = RewriteTrace()
    merge.apply(fgraph)
    Worklist([rule], name="soundness").apply(fgraph, trace)
    verify_graph(fgraph)
    return fgraph.outputs[0], len(trace.applied(rule.name))


def compare(evaluate, before, after, values, dtype):
    with np.errstate(all="ignore"):
        one, other = (evaluate([outputs], values)[0] for outputs in (before, after))
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    if one.dtype.kind in "biu":
        np.testing.assert_array_equal(other, one)
    else:
        rtol = {2: 5e-3, 4: 2e-5, 8: 1e-12}[one.real.dtype.itemsize]
        rtol = max(rtol, 2e-5) if dtype == "float32" else rtol
        np.testing.assert_allclose(other, one, rtol=rtol, atol=rtol)


RULES = {rule.name: rule for rule in all_rules()}


def test_names_differ():
    assert len(RULES) == len(list(all_rules()))


@pytest.mark.docstrings
def test_every_rule_states_its_equation():
    assert [name for name, rule in RULES.items() if not rule.equation] == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", RULES)
def test_rule(evaluate, name):
    rule = RULES[name]
    unmatched = {text for dtype in DTYPES for text, _ in build(rule, dtype)}
    assert unmatched, f"no graph is known that {name} matches"
    for dtype in DTYPES:
        for text, expression in build(rule, dtype):
            after, count = rewritten(rule, expression)
            if not count:
                continue
            unmatched.discard(text)
            assert expression.type.is_super(after.type), (text, dtype, after.type)
            assert after.type.broadcastable == expression.type.broadcastable
            inputs = list(explicit_graph_inputs([expression]))
            rng = np.random.default_rng(7)
            for trial in range(5):
                special = dtype.startswith("float") and trial > 1 and keeps_extremes(rule)
                values = {x: value_of(x, rng, special) for x in inputs}
                try:
                    compare(evaluate, expression, after, values, dtype)
                except AssertionError as error:
                    shown = f"{phintys.pprint(expression)} -> {phintys.pprint(after)}"
                    error.add_note(f"{text} with {dtype}: {shown}, {values}")
                    raise
    assert not unmatched, f"{name} does not match what is said to match it"


def changes_sign_of_zero(evaluate, rule, expression):
    """Return whether a rule changes the sign of a zero, for some numbers of both signs."""
    after, count = rewritten(rule, expression)
    inputs = list(explicit_graph_inputs([expression]))
    if not count or not any(x.dtype == "float64" for x in inputs):
        return False
    rng = np.random.default_rng(3)
    for trial in range(30):
        values = {x: value_of(x, rng, special=True) for x in inputs}
        if trial % 2:
            values = {
                x: rng.choice([0.0, -0.0], value.shape) if value.dtype.kind == "f" else value
                for x, value in values.items()
            }
        with np.errstate(all="ignore"):
            one, other = (evaluate([outputs], values)[0] for outputs in (expression, after))
        is_zero = (one == 0) & (other == 0)
        if (np.signbit(one) != np.signbit(other))[is_zero].any():
            return True
    return False


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if keeps_extremes(rule)])
def test_signs_of_zeros(evaluate, name):
    """Rules that change the sign of a zero are marked, and only these."""
    rule = RULES[name]
    found = [
        text
        for text, expression in build(rule, "float64")
        if expression.dtype == "float64" and changes_sign_of_zero(evaluate, rule, expression)
    ]
    if keeps_zeros(rule):
        assert not found
    else:
        assert found, f"{name} is marked in vain"


# Marks change gradients; they go once these have been built. Schur forms, selected inverses and the
# one pass for both gradients of a sparse product have none, and come after them as well: a graph is
# differentiated before the pass `specialize`.
_WITHOUT_GRADIENTS = {
    *(
        "both_gradients",
        "drop_gradient_mark",
        "inverse_of_positive",
        "product_with_its_pattern",
        "sylvester_by_schur_forms",
    )
}
if "L_op" not in vars(Scan):
    _WITHOUT_GRADIENTS |= {name for name, rule in RULES.items() if Scan in (rule.tracks or ())}


@pytest.mark.parametrize("name", sorted(RULES.keys() - _WITHOUT_GRADIENTS))
def test_gradients_stay(evaluate, name):
    rule = RULES[name]
    rng = np.random.default_rng(11)
    for text, expression in build(rule, "float64"):
        after, count = rewritten(rule, expression)
        inputs = [x for x in explicit_graph_inputs([expression]) if x.dtype == "float64"]
        if not count or not inputs or expression.dtype != "float64":
            continue
        values = {x: value_of(x, rng) for x in explicit_graph_inputs([expression])}
        gradients = [
            phintys.grad(out.sum(), inputs, disconnected_inputs="ignore")
            for out in (expression, after)
        ]
        with np.errstate(all="ignore"):
            one, other = (evaluate(gradient, values) for gradient in gradients)
        for before, now in zip(one, other, strict=True):
            np.testing.assert_allclose(now, before, rtol=1e-9, atol=1e-12, err_msg=text)


def test_a_rule_without_examples_fails():
    empty = phintys.rewriting.node_rewriter([pt.exp])(lambda fgraph, node: None)
    assert not list(build(empty, "float64"))
    assert list(build(RULES["minus_softplus"], "float64"))
