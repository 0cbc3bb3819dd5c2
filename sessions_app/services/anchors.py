"""Writes anchors: each day to a folder, and to an address outside what the file says of itself."""

import os
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import orjson
from django.conf import settings

from sessions_app.engine.anchors import AnchorSeal, AnchorWriter, check_anchor, read_end
from sessions_app.selectors.anchors import compare_ends, read_ends
from sessions_app.selectors.integrity import Finding
from sessions_app.selectors.reading import one_state
from sessions_app.services.signing import installation_key, own_signers
from sessions_app.services.upkeep import require_system
from teams_app.engine.actors import Actor
from teams_app.engine.webhooks import read_url
from teams_app.services.outgoing import post_json


def write_anchor(*, actor: Actor, path: Path, now: datetime) -> AnchorSeal:
    """A file of that name is a whole one: it is written beside its place first."""
    require_system(actor)
    writer = AnchorWriter(key=installation_key(), at_ms=int(now.timestamp() * 1000))
    with tempfile.NamedTemporaryFile(dir=path.absolute().parent, delete=False) as target:
        try:
            with one_state():
                target.writelines(writer.lines(read_ends()))
            target.flush()
            os.fsync(target.fileno())
            Path(target.name).replace(path)
        except BaseException:
            Path(target.name).unlink(missing_ok=True)
            raise
    if writer.seal is None:
        raise AssertionError("Lines without a seal.")
    return writer.seal


def keep_anchor(*, actor: Actor, now: datetime) -> Path | None:
    """The anchor of the day, in WORKRAIL_ANCHOR_DIR; None where no folder is named. Safe to run twice."""
    require_system(actor)
    folder = settings.ANCHOR_DIR
    if folder is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    path: Path = folder / f"anchor-{now:%Y-%m-%d}.jsonl"
    seal = write_anchor(actor=actor, path=path, now=now)
    if settings.ANCHOR_URL:
        post_json(target=read_url(settings.ANCHOR_URL), body=orjson.dumps(seal.as_json()), headers={})
    return path


def verify_anchor(*, actor: Actor, source: BinaryIO) -> Iterator[Finding]:
    """What the anchor tells and the tables no longer hold. Raises AnchorUnreadableError when it is not ours or not whole."""
    require_system(actor)
    check_anchor(source, signers=own_signers())
    source.seek(0)
    with one_state():
        yield from compare_ends(end for end in map(read_end, source) if end is not None)
