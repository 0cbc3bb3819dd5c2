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


EVERYTHING = {
    "id": "team.everything",
    "name": "Everything",
    "description": "Uses every field of the format once.",
    "version": "1.2.3",
    "modelTier": "mid",
    "agentRole": "You are careful and exact.",
    "preconditions": ["The code can be read."],
    "clarificationPrompts": ["How deep (depth)?", "Which rounds, files and risk?"],
    "metaGuidance": ["Cite what you read.", "Ask {{wr.bindings.review}} when in doubt."],
    "functionDefinitions": [
        {
            "name": "finding",
            "definition": "One line for each finding.",
            "scope": "workflow",
            "parameters": [
                {
                    "name": "level",
                    "type": "string",
                    "required": True,
                    "enum": ["low", "high"],
                    "description": "How bad.",
                },
                {"name": "count", "type": "number", "default": 1},
            ],
        },
    ],
    "recommendedPreferences": {"recommendedAutonomy": "guided", "recommendedRiskPolicy": "balanced"},
    "capabilities": {"web_browsing": "required", "delegation": "preferred"},
    "features": ["wr.features.capabilities", "wr.features.memory_context"],
    "assessments": [
        {
            "id": "ready",
            "purpose": "Is it ready?",
            "dimensions": [
                {"id": "proof", "purpose": "How sure?", "levels": ["none", "some"]},
                {"id": "risk", "purpose": "How bad?", "levels": ["high", "small"], "required": False},
            ],
        },
    ],
    "extensionPoints": [
        {"slotId": "review", "purpose": "Looks at it.", "default": "wr.routine-sample", "acceptedKinds": ["routine"]},
    ],
    "references": [
        {
            "id": "rules",
            "title": "The rules",
            "source": "docs/rules.md",
            "purpose": "What is asked for.",
            "authoritative": True,
            "resolveFrom": "package",
        },
    ],
    "validatedAgainstSpecVersion": 3,
    "about": "## About\nAll of it.",
    "examples": ["Do everything once."],
    "metricsProfile": "coding",
    "steps": [
        {
            "id": "blocks",
            "title": "Written in blocks",
            "promptBlocks": {
                "goal": "Find out depth, risk and files.",
                "constraints": [
                    "Be brief.",
                    [{"kind": "text", "text": "Keep notes:"}, {"kind": "ref", "refId": "wr.refs.memory_store"}],
                ],
                "procedure": ["1. Read.", "2. Write."],
                "outputRequired": {"notes": "What was found.", "context": "`depth`, `rounds`"},
                "verify": ["It is true."],
            },
            "agentRole": "You read before you write.",
            "modelTier": "heavy",
            "guidance": ["Look twice."],
            "askForFiles": True,
            "requireConfirmation": {"var": "risk", "equals": "high"},
            "validationCriteria": [
                {"type": "regex", "pattern": "^Result: \\S.*:[0-9]+", "flags": "m", "message": "Write a result."},
                {
                    "type": "length",
                    "min": 20,
                    "max": 4000,
                    "message": "Fit.",
                    "condition": {"var": "depth", "equals": "deep"},
                },
            ],
            "hasValidation": True,
            "functionReferences": ["finding()"],
            "promptFragments": [{"id": "deep", "when": {"var": "depth", "equals": "deep"}, "text": "Go deeper."}],
        },
        {
            "id": "plain",
            "title": "Written plainly",
            "prompt": "Use {{wr.bindings.review}} on {{depth}}. {{wr.refs.memory_query}}",
            "runCondition": {"and": [{"var": "depth", "not_equals": "none"}, {"not": {"var": "rounds", "lt": 1}}]},
            "assessmentRefs": ["ready"],
            "assessmentConsequences": [
                {
                    "when": {"anyEqualsLevel": "none", "forAssessment": "ready"},
                    "effect": {"kind": "require_followup", "guidance": "Prove it."},
                },
            ],
            "functionDefinitions": [{"name": "own", "definition": "Of this step."}],
            "functionCalls": [{"name": "finding", "args": {"level": "low", "count": 2}}, {"name": "own", "args": {}}],
            "audit": {"prompt": "Look again.", "rubric": ["True?"]},
            "verification": {"command": "make test", "prompt": "Quote the end."},
            "requireConfirmation": {"kind": "human_approval", "condition": {"var": "risk", "in": ["high", "open"]}},
        },
        {
            "id": "apart",
            "type": "parallel",
            "title": "Hand it out",
            "parallelDelegations": [
                {
                    "workflowId": "wr.routine-sample",
                    "goal": "Look at it.",
                    "runCondition": {"var": "depth", "contains": "deep"},
                    "contextMapping": {"depth": "depth"},
                    "args": {"lens": "safety"},
                    "modelTier": "lightweight",
                    "allowedTools": ["Read"],
                },
            ],
            "synthesis": {
                "prompt": "Compare.",
                "outputContract": {"contractRef": "wr.contracts.gaps", "required": False},
            },
            "runCondition": {"var": "depth", "startsWith": "d"},
            "requireConfirmation": True,
        },
        {
            "id": "rounds-of-rounds",
            "type": "loop",
            "title": "Go through the files",
            "loop": {"type": "forEach", "items": "files", "itemVar": "file", "indexVar": "place", "maxIterations": 9},
            "functionDefinitions": [{"name": "mark", "definition": "Of this loop."}],
            "notesOptional": True,
            "body": [
                {
                    "id": "until-good",
                    "type": "loop",
                    "title": "Until it is good",
                    "loop": {
                        "type": "while",
                        "conditionSource": {
                            "kind": "artifact_contract",
                            "contractRef": "wr.contracts.loop_control",
                            "loopId": "until-good",
                        },
                        "maxIterations": 4,
                        "iterationVar": "attempt",
                    },
                    "body": [
                        {
                            "id": "try-it",
                            "title": "Try it",
                            "prompt": "Attempt {{attempt}} at {{file.name}}.",
                            "functionReferences": ["mark()"],
                            "output": {"contractRef": "wr.contracts.loop_control", "hints": ["Say why."]},
                        },
                    ],
                },
                {"id": "mark-it", "title": "Mark it", "prompt": "Mark {{place}}."},
                {
                    "id": "count-it",
                    "type": "loop",
                    "title": "Count",
                    "loop": {"type": "for", "count": "rounds", "maxIterations": 3},
                    "body": "counted",
                },
            ],
        },
        {"id": "counted", "title": "Counted", "prompt": "Count.", "notesOptional": True},
        {
            "id": "until-known",
            "type": "loop",
            "title": "Until it is known",
            "loop": {"type": "until", "condition": {"var": "risk", "matches": "^(low|high)$"}, "maxIterations": 2},
            "runCondition": {"or": [{"var": "risk", "exists": False}, {"var": "depth", "endsWith": "p"}]},
            "body": [{"id": "ask", "title": "Ask", "prompt": "Ask for the risk."}],
        },
        {
            "id": "called",
            "title": "Call a routine",
            "templateCall": {"templateId": "wr.templates.routine.sample", "args": {"what": "the change"}},
            "runCondition": {"var": "rounds", "gte": 1},
        },
        {
            "id": "last",
            "title": "Hand in",
            "prompt": "Hand in the verdict.",
            "outputContract": {"contractRef": "wr.contracts.gate_verdict", "required": True},
            "requireConfirmation": {"kind": "coordinator_eval"},
        },
    ],
}
ROUTINE = routine(
    step("look", prompt="Look at {what}.", guidance=["Both sides."]),
    step("tell", promptBlocks={"goal": "Tell about {what}."}, runCondition={"var": "depth", "lte": 3}),
    metaGuidance=["Think of {what}."],
    functionDefinitions=[],
)
EVERYTHING_LIBRARY = Library(routines={"sample": ROUTINE}, workflow_ids=frozenset({"team.everything"}))
