"""Written workflows as the documents that a team saves: steps of the one format, activities in each form of the other."""

from tests.activity_folders import activity as activity_file
from tests.gate_kinds import CHILD
from tests.gate_play import APPROVAL
from tests.gate_programs import walk
from tests.run_cast import notes_free
from workflows_app.selectors.library import routine_name

END, TERMINAL = "workflow-end", "__terminal__"
PROBED = "wr.templates.capability_probe"


def step_written(place):
    common = {"runCondition": place.when.written()} if place.when else {}
    if place.asks:
        common["requireConfirmation"] = APPROVAL | ({"condition": place.asks_when.written()} if place.asks_when else {})
    if place.routine:
        call = {"templateId": f"wr.templates.routine.{routine_name(place.routine)}"}
        return {"id": place.id, "title": place.id, "templateCall": call, **common}
    if place.loops:
        settings = dict(place.settings)
        if place.goes_on:
            settings["condition"] = place.goes_on.written()
        body = [step_written(inner) for inner in place.body]
        return {"id": place.id, "type": "loop", "title": place.id, "loop": settings, "body": body, **common}
    if place.settings.get("type") == "parallel":
        delegated = [{"workflowId": CHILD, "goal": "Do it."}, {"workflowId": CHILD, "goal": "Do it twice."}]
        return {
            "id": place.id,
            "type": "parallel",
            "title": place.id,
            "notesOptional": True,
            "parallelDelegations": delegated,
            **common,
        }
    if "templateCall" in place.settings:
        return {"id": place.id, "title": place.id, **place.settings, **common}
    return notes_free(place.id, **place.settings, **common)


def activity_written(visit, triggers=()):
    said = {"steps": [], "checkpoints": [], "loops": []}
    for place in visit.body:
        if visit.form in {"newest", "exits"}:
            said["steps"].append(_item_written(place, visit))
        elif place.loops:
            said["loops"].append(_older_loop(place, visit, said))
        elif place.is_question:
            said["checkpoints"].append(_question(place, visit))
        else:
            said["steps"].append(_older_step(place, visit.body))
    ways = _exits(visit) if visit.form == "exits" else {"transitions": _transitions(visit)}
    return activity_file(
        visit.id,
        **{key: value for key, value in (said | ways).items() if value},
        **({"triggers": [{"workflow": name} for name in triggers]} if triggers else {}),
        **({"entryActions": _sets(visit.entry)} if visit.entry else {}),
        **({"exitActions": _sets(visit.exit)} if visit.exit else {}),
    )


def graph_written(visits):
    """Where the exits of each activity lead, for those that name them."""
    named = [visit for visit in visits if visit.form == "exits"]
    return {visit.id: {_exit(target): _target(target) for target in _targets(visit)} for visit in named}


def _targets(visit):
    chosen = [choice.lead for place in walk(visit.body) for choice in place.choices if choice.lead]
    return list(dict.fromkeys([*(target for target, _ in visit.ways), *chosen]))


def _exit(target):
    return f"to-{target}"


def _target(target):
    return TERMINAL if target == END else target


def _exits(visit):
    """An exit that is a way twice is two exits; one that only an option chooses has no condition."""
    declared = [
        {"id": _exit(target)} | ({"condition": test.in_folder()} if test else {"isDefault": True})
        for target, test in visit.ways
    ]
    known = {item["id"] for item in declared}
    declared += [{"id": _exit(target)} for target in _targets(visit) if _exit(target) not in known]
    return {"exits": declared}


def _transitions(visit):
    return [
        {"to": target} | ({"condition": test.in_folder()} if test else {"isDefault": True})
        for target, test in visit.ways
    ]


def _sets(pairs):
    return [{"action": "set", "target": name, "value": value} for name, value in pairs]


def _item_written(place, visit):
    if place.loops:
        body = [_item_written(inner, visit) for inner in place.body]
        return {"kind": "loop", "loopType": place.loops, "steps": body, **_loop_said(place)}
    if place.is_question:
        return {"kind": "checkpoint", **_question(place, visit)}
    return {"kind": "action", **_step_said(place)}


def _older_step(place, body):
    asked = next((each.id for each in body if each.follows == place.id), "")
    return _step_said(place) | ({"checkpoint": asked} if asked else {})


def _older_loop(place, visit, said):
    said["checkpoints"] += [_question(inner, visit) for inner in place.body if inner.is_question]
    body = [_older_step(inner, place.body) for inner in place.body if not inner.is_question]
    return {"type": place.loops, "steps": body, **_loop_said(place)}


def _step_said(place):
    return {
        "id": place.id,
        "name": place.id,
        "actions": _sets(place.sets) or [{"action": "log", "message": "Done."}],
        **({"required": False} if place.is_optional else {}),
        **_when(place),
    }


def _when(place):
    return {"condition": place.when.in_folder()} if place.when else {}


def _loop_said(place):
    said = {"over": place.settings["items"], "variable": "each", **_when(place)} if not place.goes_on else {}
    if place.goes_on:
        said = {"continueWhile" if place.when else "condition": place.goes_on.in_folder(), **_when(place)}
    said |= {"breakCondition": place.breaks.in_folder()} if place.breaks else {}
    return {"id": place.id, "name": place.id, "maxIterations": place.settings["maxIterations"], **said}


def _question(place, visit):
    return {
        "id": place.id,
        "name": place.id,
        "message": "Go on?",
        "options": [_option(choice, visit) for choice in place.choices],
        **({"authority": "human"} if place.asks else {}),
        **({"required": False} if place.is_optional or place.is_on_demand else {}),
        **_when(place),
    }


def _option(choice, visit):
    effect = {}
    if choice.lead:
        effect = {"exit": _exit(choice.lead)} if visit.form == "exits" else {"transitionTo": choice.lead}
    effect |= {"skipActivities": list(choice.drops)} if choice.drops else {}
    effect |= {"setVariable": dict(choice.sets)} if choice.sets else {}
    return {"id": choice.id, "label": choice.id.title()} | ({"effect": effect} if effect else {})
