"""The profiler: where the time and the memory of functions go."""

from phintys.compile.profile.profile import NodeCost as NodeCost
from phintys.compile.profile.profile import OpCost as OpCost
from phintys.compile.profile.profile import Profile as Profile
from phintys.compile.profile.registry import as_profile as as_profile
from phintys.compile.profile.registry import print_profiles as print_profiles
from phintys.compile.profile.registry import profiles as profiles
