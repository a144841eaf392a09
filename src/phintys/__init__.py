"""Phintys: a symbolic tensor compiler."""
