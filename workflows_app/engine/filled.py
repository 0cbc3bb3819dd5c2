"""A checkpoint as it is asked in a run: with its values in place, in the question and in each of its options."""

from msgspec.structs import replace

from workflows_app.engine.placeholders import Filling, Variables
from workflows_app.engine.program import Checkpoint


def filled(checkpoint: Checkpoint, *, variables: Variables) -> Checkpoint:
    return filled_by(checkpoint, filling=Filling(variables))


def filled_by(checkpoint: Checkpoint, *, filling: Filling) -> Checkpoint:
    """All its texts share one budget of values, as those of a step do. What an option does stays as it is written."""
    return replace(
        checkpoint,
        name=filling.render_message(checkpoint.name),
        message=filling.render_message(checkpoint.message),
        options=tuple(
            replace(
                option,
                label=filling.render_message(option.label),
                description=filling.render_message(option.description),
            )
            for option in checkpoint.options
        ),
    )
