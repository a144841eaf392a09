"""Rules for Ops are found, wherever an Op is defined."""

import subprocess

from phintys.backends.native.lower.lowering import LOWERINGS


def test_every_rule_is_in_the_module_that_is_imported_for_it():
    rules = LOWERINGS.load()
    homes = {cls: rule.__module__ for cls, rule in rules.items()}
    ours = {cls: home for cls, home in homes.items() if cls.__module__.startswith("phintys.")}
    assert {cls.__name__: home for cls, home in ours.items()} == dict(LOWERINGS.homes)


MOVED = """
import inspect, sys, types
import numpy as np, phintys, phintys.tensor as pt
from phintys.tensor import cumulative

elsewhere = types.ModuleType("phintys.elsewhere")
sys.modules["phintys.elsewhere"] = elsewhere
vars(elsewhere).update({k: v for k, v in vars(cumulative).items() if not k.startswith("__")})
source = "from __future__ import annotations\\n" + inspect.getsource(cumulative.CumOp)
exec(source, vars(elsewhere))
assert elsewhere.CumOp.__module__ == "phintys.elsewhere"
cumulative.CumOp = elsewhere.CumOp  # for those that import it from here

x = pt.dmatrix("x")
f = phintys.function([x], elsewhere.CumOp(1, "add")(x), mode="native")
ops = [type(node.op) for node in f.maker.fgraph.apply_nodes]
assert elsewhere.CumOp in ops, ops
np.testing.assert_array_equal(f(np.ones((2, 3))), [[1, 2, 3], [1, 2, 3]])
print(f.explain())
"""


def test_an_op_that_has_moved_keeps_its_lowering(python_command):
    done = subprocess.run(
        python_command(MOVED), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "kernel Cumsum" in done.stdout
    assert "callback" not in done.stdout
