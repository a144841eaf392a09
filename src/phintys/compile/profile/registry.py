"""The profiles of the process, for a report on the whole program."""

from __future__ import annotations

import atexit
import sys
from typing import TYPE_CHECKING

from phintys._base.config import config
from phintys._base.errors import ArgumentError
from phintys._base.late import LateModule

if TYPE_CHECKING:
    from typing import TextIO

    from phintys.compile.profile import profile as _profile
    from phintys.compile.profile import profile as _report
    from phintys.compile.profile.profile import Profile
else:
    _profile = LateModule("phintys.compile.profile.profile")
    _report = LateModule("phintys.compile.profile.profile")

_PROFILES: list[Profile] = []


def profiles() -> list[Profile]:
    """Return the profiles created because of ``config.profile``, in order of compilation."""
    return list(_PROFILES)


def print_profiles(file: TextIO | None = None, most: int = 10) -> None:
    """Print the time by function, then the report of each function, slowest first.

    Parameters
    ----------
    file
        The stream to print to; ``sys.stderr`` by default.
    most
        The maximum number of rows of a table.
    """
    file = sys.stderr if file is None else file
    known = sorted(_PROFILES, key=lambda profile: -profile.call_seconds)
    total = sum(profile.call_seconds for profile in known)
    print(f"{len(known)} functions, {total * 1e3:.3f} ms in calls", file=file)
    for profile in known:
        share = 100 * profile.call_seconds / total if total else 0.0
        line = f"{profile.call_seconds * 1e3:11.3f} ms {share:5.1f} % {profile.calls:8d} calls"
        print(f"{line}  {profile.name or '(unnamed)'}", file=file)
    for profile in known:
        print(f"\n{_report.write_report(profile, most)}", file=file)


def as_profile(profile: bool | str | Profile | None, name: str | None) -> Profile | None:
    """Return the profile for the ``profile`` argument of ``function``, if any.

    A profile created because of ``config.profile`` is kept, and printed when Python exits.
    """
    if profile is None:
        return keep(_profile.Profile(name)) if config.profile else None
    if profile is False:
        return None
    if isinstance(profile, _profile.Profile):
        return profile
    if isinstance(profile, str):
        return _profile.Profile(profile)
    if profile is True:
        return _profile.Profile(name)
    msg = f"profile is True, False, a name or a Profile; got {profile!r}."
    raise ArgumentError(msg)


def keep(profile: Profile) -> Profile:
    """Add a profile to those that are printed when Python exits, and return it."""
    if not _PROFILES:
        atexit.register(_print_at_exit)
    _PROFILES.append(profile)
    return profile


def _print_at_exit() -> None:
    if config.profile:
        print_profiles()
