"""Automatic differentiation: reverse mode, forward mode, and finite-difference checks."""

from typing import TYPE_CHECKING

from phintys._base.errors import DisconnectedInputError, GradientError, NullGradientError
from phintys._base.late import late_names
from phintys.graph.null_type import (
    DisconnectedType,
    NullType,
    disconnected_type,
    grad_not_implemented,
    grad_undefined,
    null_type,
)

if TYPE_CHECKING:
    from phintys.gradient.checkpointing import checkpoint
    from phintys.gradient.custom import CustomGradient, custom_gradient
    from phintys.gradient.forward import Rop, pushforward_through_pullback
    from phintys.gradient.jacobians import hessian, hessian_vector_product, jacobian
    from phintys.gradient.marks import (
        ConsiderConstant,
        DisconnectedGrad,
        GradClip,
        GradientMark,
        GradScale,
        UndefinedGrad,
        ZeroGrad,
        consider_constant,
        disconnected_grad,
        disconnected_grad_,
        grad_clip,
        grad_scale,
        undefined_grad,
        undefined_grad_,
        zero_grad,
        zero_grad_,
    )
    from phintys.gradient.numeric import numeric_grad
    from phintys.gradient.patterns.compressed import (
        Compressed,
        compressed_hessian,
        compressed_jacobian,
    )
    from phintys.gradient.patterns.rules import pattern_of
    from phintys.gradient.patterns.sparsity import sparsity
    from phintys.gradient.reverse import Lop, grad
    from phintys.gradient.subgraph import subgraph_grad
    from phintys.gradient.values import value_and_grad
    from phintys.gradient.verify import verify_grad, verify_rop
else:
    __getattr__, __dir__ = late_names(__name__)

__all__ = [
    "Compressed",
    "ConsiderConstant",
    "CustomGradient",
    "DisconnectedGrad",
    "DisconnectedInputError",
    "DisconnectedType",
    "GradClip",
    "GradScale",
    "GradientError",
    "GradientMark",
    "Lop",
    "NullGradientError",
    "NullType",
    "Rop",
    "UndefinedGrad",
    "ZeroGrad",
    "checkpoint",
    "compressed_hessian",
    "compressed_jacobian",
    "consider_constant",
    "custom_gradient",
    "disconnected_grad",
    "disconnected_grad_",
    "disconnected_type",
    "grad",
    "grad_clip",
    "grad_not_implemented",
    "grad_scale",
    "grad_undefined",
    "hessian",
    "hessian_vector_product",
    "jacobian",
    "null_type",
    "numeric_grad",
    "pattern_of",
    "pushforward_through_pullback",
    "sparsity",
    "subgraph_grad",
    "undefined_grad",
    "undefined_grad_",
    "value_and_grad",
    "verify_grad",
    "verify_rop",
    "zero_grad",
    "zero_grad_",
]
