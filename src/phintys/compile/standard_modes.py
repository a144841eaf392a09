"""The built-in modes."""

from typing import TYPE_CHECKING

from phintys._base.late import LateModule
from phintys.backends.base import register_late_backend
from phintys.compile.mode import Mode, register_late_mode, register_mode
from phintys.passes import PIPELINES

if TYPE_CHECKING:
    from phintys.backends.native import backend as native
    from phintys.backends.reference import backend as reference
    from phintys.compile import debug_mode, nan_guard
else:
    native = LateModule("phintys.backends.native.backend")
    reference = LateModule("phintys.backends.reference.backend")
    debug_mode = LateModule("phintys.compile.debug_mode")
    nan_guard = LateModule("phintys.compile.nan_guard")

register_late_backend("reference", lambda: reference.ReferenceBackend())  # noqa: PLW0108 - imported then
register_late_backend("native", lambda: native.NativeBackend())  # noqa: PLW0108 - imported then

register_mode(
    "reference",
    Mode("reference", PIPELINES["light"].including("inplace_everywhere")),
    "FAST_COMPILE",
)
register_mode("native", Mode("native", PIPELINES["full"]), "FAST_RUN")
register_late_mode(
    "debug", lambda: debug_mode.DebugMode(PIPELINES["full"]), "DebugMode", "DEBUG_MODE"
)
register_late_mode("NanGuardMode", lambda: nan_guard.NanGuardMode(pipeline=PIPELINES["full"]))
