"""Measurements: how often names are understood, how fast figures come; nothing imports this room."""
