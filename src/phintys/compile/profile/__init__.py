"""The profiler: time and memory used by functions."""

from typing import TYPE_CHECKING

from phintys._base.late import late_names
from phintys.compile.profile.registry import as_profile, keep, print_profiles, profiles

if TYPE_CHECKING:
    from phintys.compile.profile.measured import NodeCost, OpCost
    from phintys.compile.profile.profile import Profile
else:
    __getattr__, __dir__ = late_names(__name__)

__all__ = ["NodeCost", "OpCost", "Profile", "as_profile", "keep", "print_profiles", "profiles"]
