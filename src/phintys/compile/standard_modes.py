"""The modes that exist by name."""

from phintys.compile.debug_mode import DebugMode
from phintys.compile.mode import Mode, register_mode
from phintys.compile.nan_guard import NanGuardMode
from phintys.rewriting import Pipeline

DEFAULT = Pipeline(name="default")

register_mode("reference", Mode("reference", DEFAULT), "FAST_COMPILE")
# The backend of this mode becomes the native one as soon as there is one.
register_mode("native", Mode("reference", DEFAULT), "FAST_RUN")
register_mode("debug", DebugMode(DEFAULT), "DebugMode", "DEBUG_MODE")
register_mode("NanGuardMode", NanGuardMode(pipeline=DEFAULT))
