"""Ops made of graphs that run once, and what all inner graphs share."""
