"""Ops that return what they are given: checks, prints, breakpoints."""

import operator

import numpy as np

import phintys.tensor as pt
from phintys.graph.sharding import Mesh
from phintys.tensor.batching.uneven import EvenRows
from phintys.tensor.sharding import WithSharding
from phintys.testing import Argument, OpRecord
from phintys.testing.strategies import same

# Something that takes an Op and a value, does nothing, and can be pickled.
LOOK = operator.is_


def _breakpoint(x, y):
    return pt.Breakpoint("here", action=LOOK)(True, x, y)


RECORDS = [
    OpRecord(
        name="CheckAndRaise",
        build=lambda x: pt.CheckAndRaise(ValueError, "never")(x, True, pt.eq(x.ndim, x.ndim)),
        reference=lambda x: x,
        arguments=(Argument(),),
        ops=(pt.CheckAndRaise,),
    ),
    OpRecord(
        name="with_sharding",
        build=lambda x: pt.with_sharding(x, Mesh(("data",), (1,))(*["data"] * (x.ndim > 0))),
        reference=lambda x: x,
        arguments=(Argument(),),
        ops=(WithSharding,),
    ),
    OpRecord(
        name="EvenRows",
        build=lambda x: EvenRows(0)(x, pt.eq(x.ndim, x.ndim)),
        reference=lambda x: x,
        arguments=(Argument(),),
        shapes=same(min_dims=1),
        ops=(EvenRows,),
    ),
    OpRecord(
        name="Assert",
        build=lambda x: pt.Assert("never")(x, pt.ge(x.shape, 0)),
        reference=lambda x: x,
        arguments=(Argument(),),
        ops=(pt.Assert,),
    ),
    OpRecord(
        name="assert_op",
        build=pt.assert_op,
        reference=lambda x: x,
        arguments=(Argument(),),
        ops=(pt.Assert,),
    ),
    OpRecord(
        name="Print",
        build=pt.Print("x", global_fn=LOOK),
        reference=lambda x: x,
        arguments=(Argument(),),
        ops=(pt.Print,),
    ),
    OpRecord(
        name="Breakpoint",
        build=_breakpoint,
        reference=lambda x, y: (np.asarray(x), np.asarray(y)),
        arguments=(Argument(), Argument()),
        shapes=same(2),
        ops=(pt.Breakpoint,),
    ),
]
