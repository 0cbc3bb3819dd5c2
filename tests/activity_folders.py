"""Props for tests of activity workflows: small folders written as TOON, and their compilation."""

import toon_format

from workflows_app.engine.compile import compile_source
from workflows_app.engine.source import Library, Origin, Source, SourceFormat, Strictness

NO_LIBRARY = Library()


def toon(value):
    return toon_format.dumps(value).encode()


def workflow(**more):
    return {"id": "team.plan", "version": "1.0.0", "title": "Plan", **more}


def activity(activity_id="work", **more):
    return {"id": activity_id, "version": "1.0.0", "name": activity_id.title(), **more}


def step(step_id, **more):
    return {"id": step_id, "name": step_id.title(), **more}


def checkpoint(checkpoint_id, **more):
    options = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]
    return {"id": checkpoint_id, "name": checkpoint_id.title(), "message": "Go on?", "options": options, **more}


def skill(skill_id, **more):
    return {"id": skill_id, "version": "1.0.0", "capability": f"Does {skill_id}", **more}


def equals(variable, value):
    return {"type": "simple", "variable": variable, "operator": "==", "value": value}


def folder(*activities, about=None, **files):
    """A folder of numbered activities; `files` are added by path, `__` for `/`, values that are no bytes as TOON."""
    made = {"workflow.toon": toon(about or workflow())}
    for number, value in enumerate(activities or (activity(steps=[step("do")]),), 1):
        made[f"activities/{number:02}-{value['id']}.toon"] = toon(value)
    return {**made, **written(files)}


def written(files):
    paths = {path.replace("__", "/"): value for path, value in files.items()}
    return {path: value if isinstance(value, bytes) else toon(value) for path, value in paths.items()}


def compiled(files, *, library=NO_LIBRARY, strictness=Strictness.STRICT, origin=Origin.TEAM):
    source = Source(format=SourceFormat.ACTIVITY_FOLDER, files=files, origin=origin, strictness=strictness)
    return compile_source(source=source, library=library)


def program_of(files, **more):
    compilation = compiled(files, **more)
    assert compilation.program is not None, compilation.errors
    return compilation.program


def codes(problems):
    return [problem.code.value for problem in problems]


def only(problems, code):
    found = [problem for problem in problems if problem.code.value == code]
    assert len(found) == 1, [(problem.code.value, problem.file, problem.path, problem.message) for problem in problems]
    return found[0]
