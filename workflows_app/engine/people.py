"""Where a program asks for a signed-in person: nothing that stands there is passed by on an agent's word."""

from workflows_app.engine.program import Activity, ConfirmationKind, Gate, Item, Loop, walk_items


def asks_person(activity: Activity, item: Item) -> bool:
    """Whether the item itself, a question that follows it, or anything within it is for a person."""
    if isinstance(item, Gate):
        return any(checkpoint.human for checkpoint in activity.checkpoints if checkpoint.id == item.checkpoint)
    if item.confirmation is not None and item.confirmation.confirms is ConfirmationKind.HUMAN_APPROVAL:
        return True
    if isinstance(item, Loop):
        return any(asks_person(activity, inner) for inner in item.body)
    following = (each for each in walk_items(activity.body) if isinstance(each, Gate) and each.step == item.id)
    return any(asks_person(activity, gate) for gate in following)


def activity_asks(activity: Activity) -> bool:
    """Whether anything in it does: each item is looked at once, since what follows a step stands there as well."""
    human = {checkpoint.id for checkpoint in activity.checkpoints if checkpoint.human}
    for item in walk_items(activity.body):
        if isinstance(item, Gate):
            if item.checkpoint in human:
                return True
        elif item.confirmation is not None and item.confirmation.confirms is ConfirmationKind.HUMAN_APPROVAL:
            return True
    return False
