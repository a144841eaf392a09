"""
Symbolic regression by rewriting
================================

How long is a year at a distance from the sun? All formulas of few symbols are tried on the planets.
Most are the same formula, written in another way: a rule gives them one form, and each form
is computed once. The best is J. Kepler's third law, of 1619.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt
from phintys.graph import FunctionGraph
from phintys.rewriting import Worklist, node_rewriter

distance = np.array([0.387, 0.723, 1.0, 1.524, 5.203, 9.537, 19.19, 30.07])  # astronomical units
year = np.array([0.241, 0.615, 1.0, 1.881, 11.86, 29.45, 84.02, 164.8])
x = pt.dvector("x")
RULES = {pt.sqrt: lambda a: a / 2, pt.mul: lambda a, b: a + b, pt.true_div: lambda a, b: a - b}


@node_rewriter(list(RULES))
def powers(fgraph, node):
    """x**a * x**b -> x**(a + b), for x > 0; the same for quotients and roots"""
    if any(y is not x and (y.owner is None or y.owner.op != pt.pow) for y in node.inputs):
        return None
    exponents = [1.0 if y is x else y.owner.inputs[1].data.item() for y in node.inputs]
    return [x ** RULES[node.op](*exponents)]


layers, forms, written = [[x]], {"x": x}, 1
for _ in range(5):
    new = [pt.sqrt(part) for part in layers[-1]]
    for left, right in zip(layers, layers[-2::-1], strict=False):
        new += [f(*two) for f, *two in product((pt.add, pt.mul, pt.true_div), left, right)]
    written += len(new)
    fgraph = FunctionGraph([x], new, copy_inputs=False)
    Worklist([powers], name="powers").apply(fgraph)
    named = {phintys.pprint(y): y for y in fgraph.outputs}
    layers.append([y for name, y in named.items() if name not in forms])
    forms |= named
print(f"{written} formulas are {len(forms)} different ones")

values = phintys.function([x], list(forms.values()))(distance)
with np.errstate(all="ignore"):
    errors = [abs(np.log(value / year)).max() for value in values]
order, names = np.argsort(errors), list(forms)  # NaN comes last
for k in order[:4]:
    plt.loglog(distance, values[k], label=f"{names[k]}: {100 * np.expm1(errors[k]):.1f} % off")
plt.loglog(distance, year, "ko", label="planets")
plt.legend()
plt.show()

assert len(forms) < written
assert names[order[0]] == "x ** 1.5"
