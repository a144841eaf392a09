"""What runs on the host in mode jax: lists that rules may only make shorter."""

import numpy as np
import pytest

import phintys
from benchmarks.suite.jax_programs import PROGRAMS
from phintys._base import index
from phintys.graph import Op
from phintys.scalar import SCALAR_OPS
from phintys.scalar.op import ScalarOp
from phintys.tensor.batching.blockwise import Blockwise
from tests.records.conftest import FAMILIES

pytest.importorskip("jax", reason="needs jax")

from phintys.backends.jax.requirement import with_64_bits
from phintys.backends.jax.rules import scalars
from phintys.backends.jax.tracing import RULES
from phintys.backends.native.lower.lowering import LOWERINGS

OPS = """
    Breakpoint ContinuousRiccati DiscreteRiccati Logm QZ QuasiTriangularSylvester Schur SolveBanded
    SolveToeplitz SolveTridiagonalLU Sqrtm TridiagonalLU
"""
# Of sparse matrices that are arguments or results, and iterations of SciPy.
SPARSE_OPS = "FromParts Parts PreconditionedIteration SolveByIteration"
FUNCTIONS = """
    betainc_by_a betainc_by_b betainccinv betaincinv binom gammainccinv gammaincinv
    hyp1f1 hyp1f1_by_a hyp1f1_by_b hyp2f1 hyp2f1_by_a hyp2f1_by_c iv ive j0 j1 jv kv kve
    log_gamma_slope log_ive_slope log_kve_slope owens_t yv
"""


def test_few_ops_and_functions_run_on_the_host():
    assert len([*OPS.split(), *SPARSE_OPS.split()]) <= 20
    assert len(FUNCTIONS.split()) <= 25


def test_the_ops_without_a_rule_are_those_that_are_known():
    records = [record for module in FAMILIES.values() for record in module.RECORDS]
    classes = {op if isinstance(op, type) else type(op) for r in records for op in r.ops}
    ops = {
        cls
        for cls in classes
        if issubclass(cls, Op) and not issubclass(cls, ScalarOp) and not cls.is_copy
    } - {Blockwise}
    RULES.load()
    without = {c.__name__ for c in ops if RULES.find(c) is None and not hasattr(c, "expanded")}
    assert without == {*OPS.split(), *SPARSE_OPS.split()}


def test_the_index_names_every_class_that_has_a_rule():
    """One that it does not name would run on the host, until its module is imported by chance."""
    named = {name for names in index.JAX_RULES.values() for name in names.split()}
    ours = {cls for cls in RULES.load() if cls.__module__.startswith("phintys.")}
    assert {cls.__name__ for cls in ours} <= named


def test_an_op_with_native_code_of_its_own_does_not_inherit_the_rule_of_another():
    """Its values are others than those of its base class, of whose rule it would get them."""
    rules, lowerings = RULES.load(), LOWERINGS.load()
    inherited = [cls for cls in lowerings if cls not in rules and RULES.find(cls) is not None]
    bases = {cls: next(base for base in cls.__mro__ if base in rules) for cls in inherited}
    others = {cls.__name__ for cls, base in bases.items() if base in lowerings}
    assert others == {"StepCount"}  # another error for the same values


def test_the_functions_without_a_rule_are_those_that_are_known():
    functions = SCALAR_OPS.values() if isinstance(SCALAR_OPS, dict) else SCALAR_OPS
    found = {f.name for f in functions if not scalars.is_converted(f)}
    assert found == set(FUNCTIONS.split())


def test_the_mode_that_refuses_the_host_names_the_function():
    x = phintys.tensor.dvector("x")
    mode = phintys.jax.mode(host="refuse")
    f = phintys.function([x], phintys.tensor.j0(x), mode=mode)
    with pytest.raises(phintys.PhintysError, match="j0 would run on the host"):
        f([1.0])


def _traced(f, *arrays):
    """Return what runs on the host and the program of JAX, which is not compiled."""
    with with_64_bits():
        ours = f.vm._specialised(f.vm.outputs, {})
        traced = ours.call.trace(*arrays)
    return list(ours.session.hosted), str(traced.jaxpr)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_that_are_compared_with_others_run_nothing_on_the_host(name):
    program = PROGRAMS[name](np.random.default_rng(0))
    f = phintys.function(program.inputs, program.outputs, mode="jax")
    hosted, text = _traced(f, *program.arrays)
    assert not hosted
    assert "callback" not in text


def test_a_program_that_runs_on_the_host_shows_it_in_its_trace():
    x = phintys.tensor.dvector("x")
    f = phintys.function([x], phintys.tensor.j0(x), mode="jax")
    hosted, text = _traced(f, np.ones(3))
    assert hosted == ["j0"]
    assert "callback" in text
