"""Control flow, and Ops made of graphs: inner graphs run once, several times, or not at all."""

from typing import TYPE_CHECKING

from phintys._base.late import LateModule, late_names
from phintys.gradient.graph_ops import GraphOps, set_graph_ops

if TYPE_CHECKING:
    from phintys import tensor
    from phintys.control.branches import IfElse, branch, cond, ifelse
    from phintys.control.graph_ops import custom as _checkpoint
    from phintys.control.graph_ops import custom as _custom
    from phintys.control.graph_ops.from_graph import OpFromGraph
    from phintys.control.loop_derivatives.memory import gradient_memory
    from phintys.control.loop_forms.ctc import ctc_loss  # noqa: F401 - phintys.tensor shows it
    from phintys.control.loop_forms.folds import filter, foldl, foldr, map, reduce, scan_checkpoints
    from phintys.control.loop_forms.functional import fori_loop, loop, while_loop
    from phintys.control.loop_forms.scan_arguments import until
    from phintys.control.loop_forms.scanning import scan
    from phintys.control.loops.arguments import LoopArguments
    from phintys.control.loops.scan_op import Scan
    from phintys.control.rows import row_batches as _few_rows
    from phintys.control.rows import row_batches as _row_batches
    from phintys.control.rows import row_loop as _row_loop
    from phintys.control.rows.row_loop import RowLoop
    from phintys.control.solving import optimize  # noqa: F401 - phintys.tensor shows it

    # The package is below it: for `make index`.
    tensor.__all__ += ["ctc_loss", "optimize"]
else:
    _checkpoint = LateModule("phintys.control.graph_ops.custom")
    _custom = LateModule("phintys.control.graph_ops.custom")
    _few_rows = LateModule("phintys.control.rows.row_batches")
    _row_batches = LateModule("phintys.control.rows.row_batches")
    _row_loop = LateModule("phintys.control.rows.row_loop")
    __getattr__, __dir__ = late_names(__name__)

__all__ = [
    "IfElse",
    "LoopArguments",
    "OpFromGraph",
    "RowLoop",
    "Scan",
    "branch",
    "cond",
    "filter",
    "foldl",
    "foldr",
    "fori_loop",
    "gradient_memory",
    "ifelse",
    "loop",
    "map",
    "reduce",
    "scan",
    "scan_checkpoints",
    "until",
    "while_loop",
]

set_graph_ops(
    GraphOps(
        checkpoint=lambda *given: _checkpoint.Checkpoint(*given),  # noqa: PLW0108 - imported then
        custom_gradient=lambda *given: _custom.CustomOp(*given),  # noqa: PLW0108 - likewise
        batched_rows=lambda *given: _row_batches.batched_rows(*given),  # noqa: PLW0108 - likewise
        few_rows=lambda *given: _few_rows.few_rows(*given),  # noqa: PLW0108 - likewise
        stacked_rows=lambda *given: _row_loop.row_loop(*given),  # noqa: PLW0108 - likewise
    )
)
