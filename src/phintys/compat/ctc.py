"""The loss of connectionist temporal classification under its old name."""

from __future__ import annotations

from typing import Any

from phintys.control.loop_forms.ctc import ctc_loss

__all__ = ["ctc", "ctc_available"]


def ctc_available() -> bool:
    """Return ``True``: no library is needed."""
    return True


def ctc(activations: Any, labels: Any, input_lengths: Any) -> Any:
    """Return the loss of each sequence; see :func:`phintys.tensor.ctc_loss`."""
    return ctc_loss(activations, labels, input_lengths)
