"""What users need to test their own Types and Ops."""

from phintys.gradient.verify import verify_grad, verify_rop

__all__ = ["verify_grad", "verify_rop"]
