"""What type checkers make of programs: read by ``make types``, never run.

Each ``assert_type`` says what an expression is; each ``pyright: ignore`` marks what must be
refused: where nothing is wrong, the comment itself is an error.
"""

from typing import Any, assert_type

import numpy as np

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys.gradient import consider_constant, hessian, hessian_vector_product
from phintys.graph import SharedVariable, Type, Variable
from phintys.tensor import TensorSharedVariable, TensorVariable

Array = np.ndarray[Any, Any]

x = pt.dmatrix("x")
v = pt.vector("v")
w = phintys.shared(np.zeros((3, 2)), name="w")

# Variables
assert_type(x, TensorVariable)
assert_type(pt.tensor("t", shape=(None, 3)), TensorVariable)
assert_type(w, TensorSharedVariable)
assert_type(phintys.shared(1.0), TensorSharedVariable)
assert_type(phintys.shared([[1.0, 2.0]]), TensorSharedVariable)
assert_type(phintys.shared(object()), Any)
assert_type(w.get_value(), Array)

# Expressions
assert_type(pt.exp(x), TensorVariable)
assert_type(pt.maximum(x, 0.0), TensorVariable)
assert_type(x @ w, TensorVariable)
assert_type(w @ v + 1, TensorVariable)
assert_type(2.0 * w, TensorVariable)
assert_type(w.T, TensorVariable)
assert_type((x @ w).sum(axis=0), TensorVariable)
assert_type(x[0], TensorVariable)
assert_type(x > 0, TensorVariable)
assert_type(pt.where(x > 0, x, 0.0), TensorVariable)
assert_type(pt.where(x > 0), tuple[TensorVariable, ...])
assert_type(pt.nonzero(x, return_matrix=True), TensorVariable)
assert_type(pt.softmax(x), TensorVariable)
assert_type(pt.concatenate([x, x]), TensorVariable)
assert_type(pt.set_subtensor(x[0], 1.0), TensorVariable)
assert_type(pt.zeros_like(w), TensorVariable)
assert_type(pt.special.erf(x), TensorVariable)
assert_type(pt.special.expit(x), TensorVariable)
assert_type(pt.inplace.exp_inplace(x), TensorVariable)
assert_type(pt.exp, pt.Elemwise)
assert_type(ps.exp, ps.UfuncRow)

# Gradients
cost = (x @ w).sum()
assert_type(phintys.grad(cost, x), TensorVariable)
assert_type(phintys.grad(cost, w), TensorVariable)
assert_type(phintys.grad(cost, [x]), list[TensorVariable])
assert_type(phintys.grad(cost, [w, w]), list[TensorVariable])
assert_type(phintys.grad(cost, [x, w]), list[TensorVariable])
assert_type(phintys.grad(cost, (x, w)), tuple[TensorVariable, ...])
assert_type(phintys.grad(cost, {"w": w}), dict[str, TensorVariable])
assert_type(phintys.jacobian(x, w), TensorVariable)
assert_type(hessian(cost, [w]), list[TensorVariable])
assert_type(hessian_vector_product(cost, w, w), TensorVariable)
assert_type(phintys.Lop(x, w, x), TensorVariable)
assert_type(phintys.Rop(x, w, x), TensorVariable)
assert_type(consider_constant(x), TensorVariable)

# Values
assert_type(cost.eval({x: np.zeros((2, 3))}), Array)
assert_type(w.eval(), Array)
f = phintys.function([x], cost)
assert_type(f, phintys.Function[Array])
assert_type(f(np.zeros((2, 3))), Array)
assert_type(phintys.function([x], [cost, x])(1), list[Array])
assert_type(phintys.function([x], (cost,), mode="reference")(1), list[Array])
assert_type(phintys.function([x], {"cost": cost})(1), dict[str, Array])
assert_type(phintys.function([x], phintys.Out(cost))(1), Any)
assert_type(phintys.function([x], updates={w: w + 1})(1), None)
assert_type(phintys.function([], 1.0)(), Array)
assert_type(phintys.function([{"x": x}], [cost, [x]])({"x": 1}), Any)
assert_type(phintys.function([x], [cost, [x]])(1), list[Any])


# Types of one's own
def of_ones_own(own: Type, variable: Variable, shared: SharedVariable) -> None:
    """What is not a tensor is whatever its Type says."""
    assert_type(own("y"), Variable)
    assert_type(phintys.function([variable], variable)(1), Any)
    assert_type(phintys.grad(None, variable, known_grads={variable: variable}), Any)
    assert_type(shared.get_value(), Any)


# Options are checked.
phintys.function([x], cost, mode="nativ")  # pyright: ignore[reportArgumentType, reportCallIssue]
phintys.function([x], cost, on_unused_input="no")  # pyright: ignore[reportArgumentType, reportCallIssue]
phintys.function([x], cost, profil=True)  # pyright: ignore[reportCallIssue]
phintys.grad(cost, w, disconnected_inputs="no")  # pyright: ignore[reportArgumentType, reportCallIssue]
phintys.grad(cost, w, return_disconnected="no")  # pyright: ignore[reportArgumentType, reportCallIssue]
pt.round(x, mode="up")  # pyright: ignore[reportArgumentType]
pt.take(x, 0, mode="no")  # pyright: ignore[reportArgumentType]
x.take(0, mode="no")  # pyright: ignore[reportArgumentType]
pt.expp(x)  # pyright: ignore[reportAttributeAccessIssue]
x.summ()  # pyright: ignore[reportAttributeAccessIssue]
