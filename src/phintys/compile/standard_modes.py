"""The built-in modes. Those that check what they compute are registered by their own modules."""

from phintys.compile.mode import Mode, register_mode
from phintys.passes import PIPELINES

register_mode(
    "reference",
    Mode("reference", PIPELINES["light"].including("inplace_everywhere")),
    "FAST_COMPILE",
)
register_mode("native", Mode("native", PIPELINES["full"]), "FAST_RUN")
