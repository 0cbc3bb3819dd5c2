"""The site as tests of the rows ask it: with the fault that a file tells of made in its loaded code, until the file is empty.

A file beside it gets a sign for each call that only broke, which proves nothing.
"""

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests import faults
from workrail_site.asgi import application as site


class _FaultySite:
    def __init__(self, told: Path) -> None:
        self._told = told
        self._said = ""
        self._made = ExitStack()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            self._follow()

        async def telling(message: Any) -> None:
            if b"INTERNAL_ERROR" in message.get("body", b""):
                with self._told.with_suffix(".broken").open("a", encoding="utf-8") as broken:
                    broken.write("!")
            await send(message)

        await site(scope, receive, telling)

    def _follow(self) -> None:
        said = self._told.read_text(encoding="utf-8")
        if said == self._said:
            return
        self._made.close()
        fault = faults.fault_named(**json.loads(said)) if said else None
        if fault is not None:
            self._made.enter_context(faults.made(fault, faults.loaded_functions()))
        faults.forget_what_is_kept()
        self._said = said


application = _FaultySite(Path(os.environ["WORKRAIL_SITE_FAULT"]))
