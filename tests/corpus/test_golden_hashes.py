"""The names of programs, as committed in `golden_hashes.json`.

Editing a bundled workflow moves its own name: write the new one into the file. A name under `documents` moves only when the
compiler writes something else for the same source: that is a new `COMPILER_VERSION`, and all names are written anew.
"""

import json
from pathlib import Path

from tests.activity_folders import (
    activity,
    folder,
    program_of as program_of_folder,
    step as folder_step,
    workflow as about,
)
from tests.step_documents import EVERYTHING, EVERYTHING_LIBRARY, call, compiled, loop, routine, step, workflow
from workflows_app.engine.compile import compile_source
from workflows_app.engine.program import COMPILER_VERSION, workflow_hash
from workflows_app.engine.source import Library
from workflows_app.selectors.bundled import read_bundled

GOLDEN = json.loads(Path(__file__).with_name("golden_hashes.json").read_bytes())

DOCUMENTS = {
    "everything": (EVERYTHING, EVERYTHING_LIBRARY),
    "first schema": (workflow(step("only", guidance=["Look."], askForFiles=True), id="plain"), Library()),
    "smallest": (workflow(step("only")), Library()),
    "loops": (
        workflow(
            loop("outer", [loop("inner", "work", type="for", count="rounds")], type="forEach", items="files"),
            step("work"),
        ),
        Library(),
    ),
    "routine": (
        workflow(call("look", arguments={"what": "it"}, runCondition={"var": "deep"}, requireConfirmation=True)),
        Library(routines={"sample": routine(step("one", prompt="See {what}."), metaGuidance=["Be calm."])}),
    ),
}

# Ways out, loops and questions in every form that folders have for them.
_AGAIN = {
    "kind": "loop",
    "id": "again",
    "loopType": "doWhile",
    "when": "ready",
    "continueWhile": "!ready",
    "maxIterations": 3,
}
_LEFT = [{"id": "stay", "label": "Stay"}, {"id": "go", "label": "Go", "effect": {"exit": "late"}}]
_NEWEST = [
    {"kind": "action", "id": "look", "actions": [{"action": "set", "target": "ready", "value": True}]},
    {**_AGAIN, "steps": [{"kind": "action", "id": "turn", "actions": []}]},
    {"kind": "checkpoint", "id": "leave", "message": "Leave {ready}?", "options": _LEFT},
]
_GRAPH = {"first": {"late": "second", "done": "__terminal__"}}
FOLDERS = {
    "plain folder": folder(),
    "ways out": folder(
        activity("first", steps=_NEWEST, exits=[{"id": "late", "when": "!ready"}, {"id": "done", "isDefault": True}]),
        activity("second", steps=[folder_step("end")], exits=[{"id": "over"}]),
        about=about(graph=_GRAPH, initialActivity="first", variables=[{"name": "ready", "type": "boolean"}]),
    ),
}


def test_the_names_are_of_this_compiler():
    assert GOLDEN["compiler"] == COMPILER_VERSION


def test_small_documents_keep_their_names():
    found = {name: workflow_hash(compiled(pair[0], library=pair[1]).program) for name, pair in DOCUMENTS.items()}
    assert found == GOLDEN["documents"]


def test_small_folders_keep_their_names():
    found = {name: workflow_hash(program_of_folder(files)) for name, files in FOLDERS.items()}
    assert found == GOLDEN["folders"]


def test_bundled_workflows_keep_their_names():
    bundled = read_bundled()
    programs = {
        workflow_id: compile_source(source=source, library=bundled.library).program
        for workflow_id, source in bundled.sources.items()
    }
    assert {workflow_id: workflow_hash(program) for workflow_id, program in programs.items()} == GOLDEN["bundled"]
