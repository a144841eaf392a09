"""Hypothesis profiles: PHINTYS_HYPOTHESIS names one, else CI=true chooses "ci"."""

import os

from hypothesis import settings

settings.register_profile("default", deadline=None, max_examples=50, print_blob=True)
# The same examples on every run: a failure there is the change's, not the dice's.
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=1000)

settings.load_profile(
    os.environ.get("PHINTYS_HYPOTHESIS")
    or ("ci" if os.environ.get("CI", "").lower() == "true" else "default")
)
