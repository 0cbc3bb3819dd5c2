"""Small step workflows for tests, and the ways to compile them and to read what came of it."""

import json

from workflows_app.engine.compile import compile_source
from workflows_app.engine.program import walk_items
from workflows_app.engine.source import Library, Source, SourceFormat


def step(step_id, **fields):
    """A step with a prompt, unless it is given another kind of work."""
    own = {} if fields.keys() & {"promptBlocks", "templateCall", "type"} else {"prompt": f"Do {step_id}."}
    return {"id": step_id, "title": f"Title of {step_id}", **own, **fields}


def loop(step_id, body, **settings):
    settings = {"type": "while", "maxIterations": 5, **settings}
    if settings["type"] in {"while", "until"} and "conditionSource" not in settings:
        settings.setdefault("condition", {"var": "goal", "equals": "more"})
    return {"id": step_id, "type": "loop", "title": f"Title of {step_id}", "loop": settings, "body": body}


def workflow(*steps, **fields):
    return {
        "id": "team.sample",
        "name": "Sample",
        "description": "A workflow of a test.",
        "version": "1.0.0",
        "steps": list(steps) or [step("only-step")],
        **fields,
    }


def routine(*steps, **fields):
    return workflow(*steps, **{"id": "wr.routine-sample", **fields})


def call(step_id, name="sample", arguments=None, **fields):
    template = {"templateId": f"wr.templates.routine.{name}", **({} if arguments is None else {"args": arguments})}
    return step(step_id, templateCall=template, **fields)


def compiled(document, *, library=None, **source):
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    made = Source(format=SourceFormat.STEPS_JSON, files={"workflow.json": data}, **source)
    return compile_source(source=made, library=library or Library())


def program_of(document, **keywords):
    """The program; a document that does not compile fails the test with its problems."""
    compilation = compiled(document, **keywords)
    assert compilation.errors == ()
    return compilation.program


def items_of(document, **keywords):
    """Every item of the program by id, loops and what they hold alike."""
    return {item.id: item for item in walk_items(program_of(document, **keywords).activities[0].body)}


def errors_of(document, **keywords):
    compilation = compiled(document, **keywords)
    assert (compilation.program is None) == bool(compilation.errors)
    return [(problem.code.value, problem.path) for problem in compilation.errors]


def warnings_of(document, **keywords):
    return [(problem.code.value, problem.path) for problem in compiled(document, **keywords).warnings]
