"""Functions that rearrange, combine, edit and pad arrays, expressed by other Ops.

None of them has an Op of its own: derivatives, shapes and native code follow from those of slices,
reshapes and joins. ``phintys.tensor`` offers them, and imports them when they are first used.
"""

from phintys._base.names import public_dir

__all__: list[str] = []

__dir__ = public_dir(__name__)
