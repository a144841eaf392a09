"""The published tests of the array API's standard, run on ``phintys.testing.eager``."""
