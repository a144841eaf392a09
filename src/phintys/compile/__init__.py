"""Compilation: functions, their inputs and outputs, modes, and shared variables."""

from typing import TYPE_CHECKING

from phintys._base.late import late_names
from phintys.compile import standard_modes as _standard_modes  # noqa: F401 - registers the modes
from phintys.compile.build import function as function
from phintys.compile.evaluate import evaluate as evaluate
from phintys.compile.executor import Function as Function
from phintys.compile.io import In as In
from phintys.compile.io import Out as Out
from phintys.compile.maker import FunctionMaker as FunctionMaker
from phintys.compile.mode import Mode as Mode
from phintys.compile.mode import get_mode as get_mode
from phintys.compile.mode import mode_names as mode_names
from phintys.compile.mode import register_mode as register_mode
from phintys.compile.ops import DeepCopy as DeepCopy
from phintys.compile.ops import deep_copy as deep_copy
from phintys.compile.profile import print_profiles as print_profiles
from phintys.compile.profile import profiles as profiles
from phintys.compile.rebuild import rebuild_collect_shared as rebuild_collect_shared
from phintys.graph.shared import SharedVariable as SharedVariable
from phintys.tensor.shared import shared as shared

if TYPE_CHECKING:
    from phintys.compile.debug_mode import DebugMode as DebugMode
    from phintys.compile.monitor import MonitorMode as MonitorMode
    from phintys.compile.nan_guard import NanGuardMode as NanGuardMode
    from phintys.compile.profile import Profile as Profile
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "phintys.compile.debug_mode": ("DebugMode",),
            "phintys.compile.monitor": ("MonitorMode",),
            "phintys.compile.nan_guard": ("NanGuardMode",),
            "phintys.compile.profile": ("Profile",),
        },
    )
