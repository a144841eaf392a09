"""Control flow, and Ops made of graphs: inner graphs run once, several times, or not at all."""

from typing import TYPE_CHECKING

from phintys._base.late import LateModule, late_names
from phintys.gradient.graph_ops import set_graph_ops
from phintys.gradient.rows import set_rows
from phintys.tensor.batching.rules import BATCHING

if TYPE_CHECKING:
    from phintys.control import checkpoint as _checkpoint
    from phintys.control import custom as _custom
    from phintys.control import row_batches as _row_batches
    from phintys.control import row_loop as _row_loop
    from phintys.control.checkpointed import scan_checkpoints
    from phintys.control.choices import branch, cond, ifelse
    from phintys.control.folds import filter, foldl, foldr, map, reduce
    from phintys.control.from_graph import OpFromGraph
    from phintys.control.if_else import IfElse
    from phintys.control.loop_arguments import LoopArguments
    from phintys.control.loops import fori_loop, loop, while_loop
    from phintys.control.memory import gradient_memory
    from phintys.control.row_loop import RowLoop
    from phintys.control.scan_op import Scan
    from phintys.control.scanning import scan
    from phintys.control.step_results import until
else:
    _checkpoint = LateModule("phintys.control.checkpoint")
    _custom = LateModule("phintys.control.custom")
    _row_batches = LateModule("phintys.control.row_batches")
    _row_loop = LateModule("phintys.control.row_loop")
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "phintys.control.checkpointed": "scan_checkpoints",
            "phintys.control.choices": "branch cond ifelse",
            "phintys.control.folds": "filter foldl foldr map reduce",
            "phintys.control.from_graph": "OpFromGraph",
            "phintys.control.if_else": "IfElse",
            "phintys.control.loop_arguments": "LoopArguments",
            "phintys.control.loops": "fori_loop loop while_loop",
            "phintys.control.memory": "gradient_memory",
            "phintys.control.row_loop": "RowLoop",
            "phintys.control.scan_op": "Scan",
            "phintys.control.scanning": "scan",
            "phintys.control.step_results": "until",
        },
    )

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

set_rows(
    loop=lambda *arguments: _row_loop.row_loop(*arguments),  # noqa: PLW0108 - imported then
    batch=lambda *arguments: _row_batches.batched_rows(*arguments),  # noqa: PLW0108 - likewise
)
set_graph_ops(
    checkpoint=lambda *arguments: _checkpoint.Checkpoint(*arguments),  # noqa: PLW0108 - likewise
    custom_gradient=lambda *arguments: _custom.CustomOp(*arguments),  # noqa: PLW0108 - likewise
)
BATCHING.add_late(
    {LateModule("phintys.control.batching"): "Fence GradientMark IfElse OpFromGraph Scan"}
)
