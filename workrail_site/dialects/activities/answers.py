"""Arguments of `respond_checkpoint` as the one way in which the checkpoint is resolved."""

from sessions_app.engine.decisions import AnswerMode
from sessions_app.engine.handover_refusals import ResponseModeError


def mode_of(*, option_id: str | None, auto_advance: bool | None, condition_not_met: bool | None) -> AnswerMode:
    """Raises ResponseModeError unless exactly one way is given. false and an empty option are none."""
    given = {
        AnswerMode.OPTION: bool(option_id and option_id.strip()),
        AnswerMode.AUTO_ADVANCE: auto_advance is True,
        AnswerMode.NOT_MET: condition_not_met is True,
    }
    chosen = [mode for mode, is_given in given.items() if is_given]
    if len(chosen) != 1:
        said = " and ".join(mode.value for mode in chosen) or "none of them"
        raise ResponseModeError(
            f"Exactly one of option_id, auto_advance or condition_not_met must be given, and {said} came.",
            suggestion="Pass the option_id that your user chose. The other two are given as true, or left out.",
        )
    return chosen[0]


def chosen(mode: AnswerMode, option_id: str | None) -> str:
    return (option_id or "").strip() if mode is AnswerMode.OPTION else ""
