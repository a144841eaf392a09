"""The reference backend: a virtual machine in Python that runs every Op by its own methods."""

from typing import TYPE_CHECKING

from phintys._base.late import late_names

if TYPE_CHECKING:
    from phintys.backends.reference.backend import VM, ReferenceBackend
else:
    __getattr__, __dir__ = late_names(__name__)

__all__ = ["VM", "ReferenceBackend"]
