"""What steps say that they read, write and overwrite."""

import numpy as np

import phintys
import phintys.tensor as pt
from phintys.backends.native.dependence import arrays_read, arrays_written
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.memory import reads_and_writes
from phintys.backends.native.steps.callback import Callback
from phintys.backends.native.steps.claim import Claim
from phintys.backends.native.steps.kernel import Kernel
from phintys.graph import Apply, FunctionGraph, Op


def test_a_claim_takes_the_memory_of_its_source():
    s, x = phintys.shared(np.ones(3), "s"), pt.dscalar("x")
    f = phintys.function([x], updates={s: pt.set_subtensor(s[0], x)}, mode="native")
    (claim,) = [step for step in lower_program(f.maker.fgraph).steps if isinstance(step, Claim)]
    assert list(arrays_read(claim)) == [claim.source]
    assert list(arrays_written(claim)) == [claim.target, claim.source]
    # The value of the source is not made here: sizes that depend on it are known before.
    assert list(map(list, reads_and_writes(claim))) == [[claim.source], [claim.target]]


def test_a_kernel_keeps_its_own_arrays_to_itself():
    x = pt.dmatrix("x")
    program = lower_program(FunctionGraph([x], [pt.special.softmax(x, axis=1)], clone=True))
    (kernel,) = [step for step in program.steps if isinstance(step, Kernel)]
    assert kernel.local
    assert set(kernel.reads()) == set(program.arguments)
    assert set(kernel.writes()) == set(program.results)


def test_scatters_read_what_they_add_to():
    x, i = pt.dvector("x"), pt.lvector("i")
    program = lower_program(FunctionGraph([x, i], [pt.inc_subtensor(x[i], 1.0)], clone=True))
    scatter = [step for step in program.steps if isinstance(step, Kernel)][-1]
    (target,) = scatter.writes()
    assert target in scatter.reads()
    assert scatter.may_fail


class Doubled(Op):
    """Twice the input, in its memory."""

    __props__ = ()
    destroy_map = {0: [0]}

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = np.multiply(inputs[0], 2, out=inputs[0])


def test_a_callback_overwrites_what_its_op_destroys():
    x = pt.dvector("x")
    program = lower_program(FunctionGraph([x], [Doubled()(x + 1)], clone=True))
    (callback,) = [step for step in program.steps if isinstance(step, Callback)]
    reads, writes = reads_and_writes(callback)
    assert list(reads) == list(callback.overwrites()) == list(callback.inputs)
    assert list(writes) == list(callback.outputs)
    assert set(arrays_written(callback)) == {*callback.inputs, *callback.outputs}
