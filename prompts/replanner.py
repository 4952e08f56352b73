"""What the model is told when a step failed: what is done, what failed and why, never a value."""

from __future__ import annotations

from collections.abc import Sequence

REPLANNER_TEXT = """\
The plan ran and a step failed. Finished steps stay and may be referred to; do not repeat them.
Reply with a plan whose steps are only the new or mended ones, one JSON object and nothing else.
Finished
{done}
Failed
{failed}"""


def render_replanner(done: Sequence[str], failed: Sequence[str]) -> str:
    """Return the message; `done` lists columns and row counts, `failed` classes and hints."""
    return REPLANNER_TEXT.format(
        done="\n".join(f"- {item}" for item in done) or "- nothing",
        failed="\n".join(f"- {item}" for item in failed),
    )
