"""The reference backend: a virtual machine in Python that runs every Op by its own methods."""

from phintys.backends.base import register_backend
from phintys.backends.reference.backend import ReferenceBackend as ReferenceBackend
from phintys.backends.reference.vm import VM as VM

register_backend("reference", ReferenceBackend())
