"""Pages are compressed under a mask; answers to programs are as they were."""

import gzip

import pytest

from tests import run_doors

pytestmark = pytest.mark.django_db


def test_a_page_is_compressed_and_its_length_tells_nothing():
    doors = run_doors.open_doors()

    answers = [doors.viewer.client.get("/studio/", headers={"Accept-Encoding": "gzip"}) for _ in range(12)]

    assert {answer["Content-Encoding"] for answer in answers} == {"gzip"}
    assert b"No agent has called yet" in gzip.decompress(answers[0].content)
    assert len({len(answer.content) for answer in answers}) > 1
    assert max(len(answer.content) for answer in answers) < 60_000


def test_an_answer_to_a_program_is_not_compressed():
    doors = run_doors.open_doors()

    answer = doors.viewer.client.get("/api/v1/runs", headers={"Accept-Encoding": "gzip"})

    assert "Content-Encoding" not in answer
