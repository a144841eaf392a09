"""The modes that exist by name."""

from phintys.backends.base import register_backend_module
from phintys.compile.debug_mode import DebugMode
from phintys.compile.mode import Mode, register_mode
from phintys.compile.nan_guard import NanGuardMode
from phintys.passes import PIPELINES

# Compiling is left until there is something to compile: importing Phintys stays cheap.
register_backend_module("native", "phintys.backends.native.backend")

register_mode("reference", Mode("reference", PIPELINES["light"]), "FAST_COMPILE")
register_mode("native", Mode("native", PIPELINES["full"]), "FAST_RUN")
register_mode("debug", DebugMode(PIPELINES["full"]), "DebugMode", "DEBUG_MODE")
register_mode("NanGuardMode", NanGuardMode(pipeline=PIPELINES["full"]))
