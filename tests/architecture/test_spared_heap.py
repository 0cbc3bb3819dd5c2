"""A process that serves looks for garbage seldom, and never through what it has imported: a body decides how many objects are made."""

import json
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_COUNTED = """
import gc, json, os
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workrail_site.settings")
import workrail_site.asgi
looks = [0, 0, 0]
gc.callbacks.append(lambda phase, about: looks.__setitem__(about["generation"], looks[about["generation"]] + (phase == "start")))
read = {read}
gc.callbacks.clear()
print(json.dumps({{"looks": looks, "spared": gc.get_freeze_count()}}))
"""
_BODIES = {
    "lists": 'json.loads("[" + ",".join(["[]"] * 300_000) + "]")',
    "objects": 'json.loads("[" + ",".join([\'{"a":[]}\'] * 100_000) + "]")',
}


def counted(body):
    done = subprocess.run(
        [sys.executable, "-c", _COUNTED.format(read=_BODIES[body])],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_a_body_of_many_lists_or_objects_has_the_process_looked_through_seldom():
    """By itself the interpreter looks four hundred times, and once or twice through all that the process holds."""
    for body in _BODIES:
        told = counted(body)

        assert sum(told["looks"]) <= 12, (body, told)
        assert told["looks"][2] == 0, (body, told)
        assert told["spared"] > 100_000, (body, told)
