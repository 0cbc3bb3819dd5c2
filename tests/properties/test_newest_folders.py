"""Random folders of the newest form compile in strict and are walked to the end, whichever options are chosen."""

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from tests.activity_folders import compiled
from tests.automatic_scripts import answers_of, automatic_script
from tests.newest_play import random_folder
from workflows_app.engine.program import program_bytes, program_from_bytes
from workflows_app.engine.simulate import SimulatedOutcome, simulate, wrong_answers
from workflows_app.engine.source import Strictness

# What may be told of such a folder: the words of a workflow that leave something to the reader.
TOLD = {"unreachable", "duplicate_path", "unknown_resource", "bad_loop", "undeclared_variable", "ignored_field"}


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), strictness=st.sampled_from(list(Strictness)))
def test_a_random_folder_compiles_and_survives_its_bytes(seed, strictness):
    made = random_folder(seed)

    compilation = compiled(made.files, library=made.library, strictness=strictness)

    assert compilation.errors == ()
    assert {problem.code.value for problem in compilation.warnings} <= TOLD
    assert program_from_bytes(program_bytes(compilation.program)) == compilation.program


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), which=st.integers(0, 2), members=st.integers(0, 3))
def test_a_random_folder_is_walked_to_its_end_by_every_option(seed, which, members):
    made = random_folder(seed)
    program = compiled(made.files, library=made.library).program
    asked = {each.id: each.options for activity in program.activities for each in activity.checkpoints}
    chosen = {name: options[min(which, len(options) - 1)].id for name, options in asked.items()}
    script = automatic_script(program, members=members)
    answers = answers_of(program, replace(script, chooses=chosen))

    told = simulate(program=program, variables=script.knows, answers=answers, max_steps=2_000)

    assert told.outcome is SimulatedOutcome.COMPLETE, (told.outcome, told.failure)
    assert wrong_answers(program=program, answers={stop.key: {} for stop in told.path}) == ()


@pytest.mark.parametrize("seed", range(8))
def test_a_mutated_folder_is_read_or_told(seed):
    """A file that is cut, doubled or left out raises nothing."""
    made = random_folder(seed)
    for path, data in made.files.items():
        for other in (data[: len(data) // 2], data + data, b"", data.replace(b":", b"", 1)):
            compilation = compiled({**made.files, path: other}, library=made.library)
            assert (compilation.program is None) == bool(compilation.errors)
