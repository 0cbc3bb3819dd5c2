"""One door for both authoring formats."""

from dataclasses import replace
from typing import assert_never

from workflows_app.engine.activities.reader import compile_folder
from workflows_app.engine.program_work import find_excess
from workflows_app.engine.reading import SharedReading
from workflows_app.engine.source import Compilation, Library, Source, SourceFormat
from workflows_app.engine.steps.reader import compile_steps


def compile_source(*, source: Source, library: Library, reading: SharedReading | None = None) -> Compilation:
    """The program of a source, or what is wrong with it. No input makes it raise. `reading` is shared by what arrives together."""
    done = _compiled(source, library, reading)
    problem = None if done.program is None else find_excess(done.program)
    return done if problem is None else replace(done, program=None, problems=(*done.problems, problem))


def _compiled(source: Source, library: Library, reading: SharedReading | None) -> Compilation:
    match source.format:
        case SourceFormat.STEPS_JSON:
            return compile_steps(source=source, library=library)
        case SourceFormat.ACTIVITY_FOLDER:
            return compile_folder(source=source, library=library, reading=reading)
        case _:
            assert_never(source.format)
