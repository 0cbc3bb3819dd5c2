"""What the log of a storm's database tells: how often each note is in it, whoever was answered.

Run as `python -m workrail_site.storms.judge`; prints one JSON object.
"""

import json
from collections import Counter

import django

PREFIX = "judged: "


def main() -> None:
    django.setup()
    from sessions_app.engine.projections import project  # noqa: PLC0415  waits for Django
    from sessions_app.selectors.reading import one_state  # noqa: PLC0415
    from sessions_app.selectors.stored_sessions import stream_stored  # noqa: PLC0415

    notes: Counter[str] = Counter()
    with one_state():
        for stored in stream_stored(since=None):
            view = project(bytes(row.body) for row in stored.events)
            notes.update(output.body for output in view.every_output() if not output.superseded)
    print(f"{PREFIX}{json.dumps(notes)}")


def read_judgement(text: str) -> dict[str, int]:
    line = next(line for line in reversed(text.splitlines()) if line.startswith(PREFIX))
    told: dict[str, int] = json.loads(line.removeprefix(PREFIX))
    return told


if __name__ == "__main__":
    main()
