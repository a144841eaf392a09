"""The functions that build loops: ``scan`` and its special forms, and the functional form."""
