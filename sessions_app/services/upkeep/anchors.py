"""Writes anchors: each day to a folder, to an address outside, or to both."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from django.conf import settings

from sessions_app.engine.anchors import AnchorSeal, AnchorWriter, check_anchor, read_end
from sessions_app.selectors.anchors import compare_ends, read_ends
from sessions_app.selectors.integrity import Finding
from sessions_app.selectors.reading import any_moment, one_state
from sessions_app.services.bundles.signing import installation_key, signers_ever
from sessions_app.services.upkeep.tables import require_system
from teams_app.engine.actors import Actor
from teams_app.engine.fail_points import FailPoint, go_on
from teams_app.engine.webhooks import read_url
from teams_app.services.outgoing import post_json


def write_anchor(*, actor: Actor, path: Path, now: datetime, fail: FailPoint = go_on) -> AnchorSeal:
    """A file of that name is a whole one: it is written beside its place first."""
    require_system(actor)
    writer = AnchorWriter(key=installation_key(), at_ms=int(now.timestamp() * 1000))
    with tempfile.NamedTemporaryFile(dir=path.absolute().parent, delete=False) as target:
        try:
            with one_state():
                fail("reading")
                target.writelines(writer.lines(read_ends()))
            target.flush()
            os.fsync(target.fileno())
            fail("written")
            Path(target.name).replace(path)
        except BaseException:
            Path(target.name).unlink(missing_ok=True)
            raise
    if writer.seal is None:
        raise AssertionError("Lines without a seal.")
    return writer.seal


def keep_anchor(*, actor: Actor, now: datetime, fail: FailPoint = go_on) -> Path | None:
    """The anchor of the day, in WORKRAIL_ANCHOR_DIR and at WORKRAIL_ANCHOR_URL; None where no folder is named.

    Safe to run twice: the file of a day is written once, and the address is told of it until it has taken it.
    """
    require_system(actor)
    if settings.ANCHOR_DIR is None and not settings.ANCHOR_URL:
        return None
    with _folder() as folder:
        path = folder / f"anchor-{now:%Y-%m-%d}.jsonl"
        if not path.exists():
            write_anchor(actor=actor, path=path, now=now, fail=fail)
        fail("in its place")
        if settings.ANCHOR_URL:
            _tell(path, fail)
    return path if settings.ANCHOR_DIR else None


@contextmanager
def _folder() -> Iterator[Path]:
    """Where only an address is named, the file lasts until that has it."""
    if settings.ANCHOR_DIR is None:
        with tempfile.TemporaryDirectory() as name:
            yield Path(name)
    else:
        settings.ANCHOR_DIR.mkdir(parents=True, exist_ok=True)
        yield settings.ANCHOR_DIR


def _tell(path: Path, fail: FailPoint) -> None:
    """All of it: what only names the file would prove nothing without the file."""
    told = path.with_suffix(".told")
    if told.exists():
        return
    post_json(
        target=read_url(settings.ANCHOR_URL), body=path.read_bytes(), headers={"Content-Type": "application/x-ndjson"}
    )
    fail("sent")
    told.touch()
    fail("told")


def verify_anchor(*, actor: Actor, source: BinaryIO) -> Iterator[Finding]:
    """What the anchor tells and the tables no longer hold. Raises AnchorUnreadableError when it is not ours or not whole."""
    require_system(actor)
    check_anchor(source, signers=signers_ever())
    source.seek(0)
    with one_state(), any_moment():
        yield from compare_ends(end for end in map(read_end, source) if end is not None)
