"""What a revision changes, as a page shows it: the program in words, then the source line by line."""

from typing import Any

from teams_app.admin.diffs import read_diffs
from workflows_app.admin import words
from workflows_app.engine.values import WorkflowDiff


def shown_difference(diff: WorkflowDiff) -> dict[str, Any]:
    return {
        "diff": diff,
        # Beside a revision without a program everything would be new, or gone.
        "changes": [] if diff.unread else [words.change_in_words(change, diff.titles) for change in diff.program],
        "source_diff": read_diffs(file.text for file in diff.files),
        "untold": [each.path for each in diff.files if not each.text],
    }
