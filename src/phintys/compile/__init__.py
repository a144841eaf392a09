"""Compilation: functions, their inputs and outputs, modes, and shared variables."""

from typing import TYPE_CHECKING

from phintys._base.late import late_names
from phintys.compile.build import function
from phintys.compile.evaluation import evaluate
from phintys.compile.executor import Function
from phintys.compile.io import In, Out
from phintys.compile.maker import FunctionMaker
from phintys.compile.mode import Mode, get_mode, mode_names, register_mode
from phintys.compile.ownership import DeepCopy, deep_copy
from phintys.compile.profile import print_profiles, profiles
from phintys.compile.rebuild import rebuild_collect_shared
from phintys.graph.shared_variable import SharedVariable
from phintys.tensor.shared_variable import shared

if TYPE_CHECKING:
    from phintys.compile.debug_mode import DebugMode
    from phintys.compile.monitor import MonitorMode, NanGuardMode
    from phintys.compile.profile import Profile
else:
    __getattr__, __dir__ = late_names(__name__)

__all__ = [
    "DebugMode",
    "DeepCopy",
    "Function",
    "FunctionMaker",
    "In",
    "Mode",
    "MonitorMode",
    "NanGuardMode",
    "Out",
    "Profile",
    "SharedVariable",
    "deep_copy",
    "evaluate",
    "function",
    "get_mode",
    "mode_names",
    "print_profiles",
    "profiles",
    "rebuild_collect_shared",
    "register_mode",
    "shared",
]
