"""The modes that exist by name."""

from phintys.compile.debug_mode import DebugMode
from phintys.compile.mode import Mode, register_mode
from phintys.compile.nan_guard import NanGuardMode
from phintys.passes import PIPELINES

register_mode("reference", Mode("reference", PIPELINES["light"]), "FAST_COMPILE")
# The backend of this mode becomes the native one as soon as there is one.
register_mode("native", Mode("reference", PIPELINES["full"]), "FAST_RUN")
register_mode("debug", DebugMode(PIPELINES["full"]), "DebugMode", "DEBUG_MODE")
register_mode("NanGuardMode", NanGuardMode(pipeline=PIPELINES["full"]))
