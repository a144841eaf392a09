"""The profiler: time and memory used by functions."""

from typing import TYPE_CHECKING

from phintys._base.late import late_names
from phintys.compile.profile.registry import as_profile as as_profile
from phintys.compile.profile.registry import print_profiles as print_profiles
from phintys.compile.profile.registry import profiles as profiles

if TYPE_CHECKING:
    from phintys.compile.profile.profile import NodeCost as NodeCost
    from phintys.compile.profile.profile import OpCost as OpCost
    from phintys.compile.profile.profile import Profile as Profile
else:
    __getattr__, __dir__ = late_names(
        __name__, {"phintys.compile.profile.profile": ("NodeCost", "OpCost", "Profile")}
    )
