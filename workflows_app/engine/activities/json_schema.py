"""The JSON Schemas of activity workflows: for editors, which tell of mistakes while one types. All generations in one, since a
folder may mix them; what a reader lets pass with a warning, an editor may well mark.
"""

from collections.abc import Collection, Iterable
from typing import Any

from workflows_app.engine.activities.activity import ESTIMATE
from workflows_app.engine.canonical import MAX_SAFE_INTEGER
from workflows_app.engine.condition_readers.activities import OPERATORS
from workflows_app.engine.condition_readers.operands import OPERANDS, VARIABLE_NAME
from workflows_app.engine.condition_readers.when import MAX_CHARS
from workflows_app.engine.names import ID_PATTERN, MAX_ID_CHARS
from workflows_app.engine.program import ActionKind, Operator, VariableType

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT}
_FLAG: dict[str, Any] = {"type": "boolean"}
_OBJECT: dict[str, Any] = {"type": "object"}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": MAX_SAFE_INTEGER}
# What a key that has to be there says; where it says nothing it is missing.
_NAME: dict[str, Any] = {"type": "string", "minLength": 1}
_ID: dict[str, Any] = {"type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$"}
_SAID: dict[str, Any] = {"not": {"type": "null"}}
_LINE: dict[str, Any] = {"type": "string", "pattern": "\\S", "maxLength": MAX_CHARS}
_WORKFLOW_ID: dict[str, Any] = {"type": "string", "maxLength": MAX_ID_CHARS, "pattern": ID_PATTERN}
# A name whose last part can be the id of the step that says no other.
_NAMING: dict[str, Any] = {"type": "string", "pattern": "^(?:[\\s\\S]*(?:::|/))?[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$"}
_VERSION: dict[str, Any] = {"type": "string", "pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+$"}


def activity_schema() -> dict[str, Any]:
    return {
        "$schema": _DRAFT,
        "title": "An activity of a workflow",
        "$ref": "#/$defs/activity",
        "$defs": _definitions(),
    }


def workflow_schema() -> dict[str, Any]:
    return {"$schema": _DRAFT, "title": "A workflow of activities", **_workflow(), "$defs": _definitions()}


def _workflow() -> dict[str, Any]:
    skills = {"primary": _NAME, "supporting": _TEXTS}
    parted = {audience: _list(_ref("ruleOrReference")) for audience in ("workflow", "activity", "universal")}
    return _closed(
        {
            "$schema": _TEXT,
            "id": _WORKFLOW_ID,
            "version": _VERSION,
            "title": _NAME,
            "description": _TEXT,
            "author": _TEXT,
            "tags": _TEXTS,
            "rules": _either(_list(_ref("ruleOrReference")), _closed(parted)),
            "fragments": _closed(
                {"rules": _named(_either(_TEXT, _TEXTS)), "checkpoints": _named(_closed(_question()))},
            ),
            "techniques": _closed({"workflow": _TEXTS, "activity": _TEXTS}),
            "skills": _either(_TEXTS, _closed(skills, ["primary"])),
            "variables": _list(_ref("variable")),
            "modes": _list(_ref("mode")),
            "executionModel": _closed(
                {"roles": _list(_closed({"id": _ID, "description": _NAME}, ["id", "description"]))}
            ),
            "artifactLocations": _named(_either(_NAME, _ref("artifactLocation"))),
            "initialActivity": _TEXT,
            "activitiesDir": _TEXT,
            "activities": _list(_either(_TEXT, _ref("activity"))),
            "graph": _named(_or_null(_named(_or_null(_TEXT)))),
        },
        ["id", "version", "title"],
    )


def _definitions() -> dict[str, Any]:
    return {
        "activity": _activity(),
        "step": _either(_ref("plainStep"), _ref("techniqueStep"), _ref("checkpointStep"), _ref("loopStep")),
        **_steps(),
        **_questions(),
        **_ways(),
        "condition": _condition(),
        "ruleOrReference": _either(_TEXT, _closed({"ref": _TEXT}, ["ref"])),
        "variable": _closed(
            {
                "name": _NAME,
                "type": _one_of(VariableType),
                "description": _TEXT,
                "defaultValue": {},
                "required": _FLAG,
            },
            ["name", "type"],
        ),
        "mode": _closed(
            {
                "id": _ID,
                "name": _NAME,
                "activationVariable": _NAME,
                "description": _TEXT,
                "recognition": _TEXTS,
                "skipActivities": _TEXTS,
                "defaults": _OBJECT,
                "resource": _TEXT,
            },
            ["id", "name", "activationVariable"],
        ),
        "artifact": _closed(
            {
                "id": _ID,
                "name": _NAME,
                "location": _TEXT,
                "description": _TEXT,
                "action": _one_of(("create", "update")),
            },
            ["id", "name"],
        ),
        "artifactLocation": _closed({"path": _NAME, "description": _TEXT, "gitignored": _FLAG}, ["path"]),
    }


def _activity() -> dict[str, Any]:
    skills = {"primary": _TEXT, "supporting": _TEXTS}
    return _closed(
        {
            "$schema": _TEXT,
            "id": _ID,
            "version": _VERSION,
            "name": _NAME,
            "description": _TEXT,
            "problem": _TEXT,
            "recognition": _TEXTS,
            "skills": _either(_TEXTS, _closed(skills)),
            "techniques": _TEXTS,
            "bundleTechniques": _closed({"maxChars": {"type": "integer", "minimum": 0}}),
            "variables": _closed({"reads": _TEXTS, "writes": _list(_ref("variable"))}),
            "steps": _list(_ref("step")),
            "loops": _list(_ref("loop")),
            "checkpoints": _list(_ref("checkpoint")),
            "decisions": _list(_ref("decision")),
            "transitions": _list(_ref("transition")),
            "exits": _list(_ref("exit")),
            "triggers": _either(_ref("trigger"), _list(_ref("trigger"))),
            "entryActions": _list(_ref("action")),
            "exitActions": _list(_ref("action")),
            "artifacts": _list(_ref("artifact")),
            "outcome": _TEXTS,
            "context_to_preserve": _TEXTS,
            "rules": _TEXTS,
            "notes": _TEXTS,
            "required": _FLAG,
            "estimatedTime": {"type": "string", "pattern": f"^(?:{ESTIMATE.pattern})?$"},
            "artifactPrefix": _TEXT,
        },
        ["id", "version", "name"],
    )


def _steps() -> dict[str, Any]:
    own = {"id": _ID, **_gates()}
    technique = _closed({"name": _NAME, "inputs": _OBJECT, "outputs": _OBJECT}, ["name"])
    naming = _either(_NAMING, {"type": "object", "properties": {"name": _NAMING}})
    named: dict[str, Any] = {"technique": naming, "skill": _NAMING}
    alone = [{"required": [key], "properties": {key: said}} for key, said in ({"id": _SAID} | named).items()]
    nothing: dict[str, Any] = {"kind": {"const": None}}
    work = {
        **own,
        "name": _TEXT,
        "description": _TEXT,
        "technique": _either(_TEXT, technique),
        "skill": _TEXT,
        "skill_args": _OBJECT,
        "actions": _list(_ref("action")),
        "triggers": _list(_ref("trigger")),
        "checkpoint": _TEXT,
    }
    loop = {
        **own,
        "name": _TEXT,
        "description": _TEXT,
        "variable": _TEXT,
        "over": _TEXT,
        "maxIterations": _COUNT,
        "breakCondition": _ref("condition"),
        "continueWhile": _ref("condition"),
        "steps": _list(_ref("step")),
        "activities": _TEXTS,
    }
    kinds = _one_of(("forEach", "while", "doWhile"))
    # What follows `#` is not part of the id.
    gate_id = {"type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}(?:#|$)"}
    asked = {**_question(), "id": gate_id, "kind": _one_of(("checkpoint",)), "ref": _TEXT}
    return {
        "plainStep": _either(
            _closed({**work, **nothing, "name": _NAME}, ["id", "name"]),
            _closed({**work, **nothing}, ["id", "actions"]),
            {**_closed({**work, **nothing}, ["technique"]), "anyOf": alone},
        ),
        "techniqueStep": {
            **_closed({**work, "kind": _one_of(("technique", "action"))}, ["kind"]),
            "anyOf": alone,
        },
        "checkpointStep": _either(
            _closed({**asked, "message": _NAME}, ["kind", "id", "message"]),
            _closed({**asked, "ref": _NAME}, ["kind", "id", "ref"]),
        ),
        "loopStep": _closed({**loop, "kind": _one_of(("loop",)), "loopType": kinds}, ["kind", "id", "loopType"]),
        "loop": _closed({**loop, "name": _NAME, "type": kinds}, ["id", "name", "type"]),
        "action": _closed(
            {
                "action": _one_of(ActionKind),
                "target": _TEXT,
                "message": _TEXT,
                "description": _TEXT,
                "value": {},
                "condition": _ref("condition"),
                "when": _LINE,
            },
            ["action"],
        ),
    }


def _questions() -> dict[str, Any]:
    effect = _closed({"setVariable": _OBJECT, "transitionTo": _TEXT, "skipActivities": _TEXTS, "exit": _TEXT})
    option = _closed({"id": _ID, "label": _NAME, "description": _TEXT, "effect": effect}, ["id", "label"])
    return {"checkpoint": _closed({**_question(), "message": _NAME}, ["id", "message"]), "option": option}


def _question() -> dict[str, Any]:
    return {
        "id": _ID,
        "name": _TEXT,
        "message": _TEXT,
        "options": {**_list(_ref("option")), "minItems": 1},
        "blocking": _FLAG,
        "defaultOption": _TEXT,
        "autoAdvanceMs": _COUNT,
        "prerequisite": _TEXT,
        "authority": _one_of(("relayed", "human")),
        "human": _FLAG,
        **_gates(),
    }


def _ways() -> dict[str, Any]:
    gate = {"condition": _ref("condition"), "when": _LINE, "isDefault": _FLAG}
    branch = _closed({"id": _ID, "label": _NAME, "transitionTo": _TEXT, **gate}, ["id", "label"])
    return {
        "transition": _closed({"to": _NAME, **gate}, ["to"]),
        "exit": _closed({"id": _ID, "description": _TEXT, **gate}, ["id"]),
        "decision": _closed(
            {"id": _ID, "name": _NAME, "description": _TEXT, "branches": {**_list(branch), "minItems": 2}},
            ["id", "name", "branches"],
        ),
        "trigger": _closed({"workflow": _NAME, "description": _TEXT, "passContext": _TEXTS}, ["workflow"]),
    }


def _condition() -> dict[str, Any]:
    several = {"type": _one_of(("and", "or")), "conditions": {**_list(_ref("condition")), "minItems": 2}}
    presence = frozenset({Operator.EXISTS, Operator.NOT_EXISTS})
    equality = frozenset({Operator.EQUALS, Operator.NOT_EQUALS})
    return _either(
        _LINE,
        _simple(presence, {}, ["type", "variable", "operator"]),
        _simple(equality, {"type": ["string", "number", "boolean", "null"]}),
        *(_simple(operators, operand) for operators, operand in OPERANDS if operators.isdisjoint(presence)),
        _closed(several, ["type", "conditions"]),
        _closed({"type": _one_of(("not",)), "condition": _ref("condition")}, ["type", "condition"]),
    )


def _gates() -> dict[str, Any]:
    return {"when": _LINE, "condition": _ref("condition"), "required": _FLAG}


def _simple(
    operators: Collection[Operator],
    operand: dict[str, Any],
    required: Iterable[str] = ("type", "variable", "operator", "value"),
) -> dict[str, Any]:
    words = sorted(word for word, operator in OPERATORS.items() if operator in operators)
    said = {"type": _one_of(("simple",)), "variable": VARIABLE_NAME, "operator": _one_of(words), "value": operand}
    return {"type": "object", "properties": said, "required": list(required), "additionalProperties": False}


def _closed(properties: dict[str, Any], required: Iterable[str] = ()) -> dict[str, Any]:
    """A key that may be left out may say nothing as well."""
    needed = list(required)
    said = {key: value if key in needed or not value else _or_null(value) for key, value in properties.items()}
    return {"type": "object", "properties": said, "required": needed, "additionalProperties": False}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    return {**schema, "type": [kind, "null"]} if isinstance(kind, str) else _either(schema, {"type": "null"})


def _named(value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": value}


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


def _either(*schemas: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": list(schemas)}


def _one_of(words: Iterable[str]) -> dict[str, Any]:
    return {"enum": [str(word) for word in words]}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}
