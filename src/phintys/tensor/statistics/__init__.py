"""Statistics, one file a family, expressed by reductions, sorting and indexing.

``phintys.tensor`` offers the functions; all but means and variances are imported when they are
first used.
"""

from phintys._base.names import public_dir

__all__: list[str] = []

__dir__ = public_dir(__name__)
