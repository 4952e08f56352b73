"""The Open WebUI function: planner, executor, join, rendering, command line."""
