"""From bits to numbers, in steps with the same results everywhere.

Start at :mod:`.steps`; :mod:`.functions` has ``exact_log`` and the like, :mod:`.uniform` uniform
numbers, and :mod:`.expressions` turns ordinary expressions into exact ones.
"""

__all__: list[str] = []
