"""What the model is told when its reply holds no plan or the plan may not run."""

from __future__ import annotations

from collections.abc import Sequence

REPAIR_TEXT = """\
That plan cannot run. Mend everything listed and reply with the whole plan again, one JSON object
and nothing else.
{findings}"""


def render_repair(findings: Sequence[str]) -> str:
    """Return the message with all findings at once."""
    return REPAIR_TEXT.format(findings="\n".join(f"- {item}" for item in findings))
