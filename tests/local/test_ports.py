import re
import socket

import pytest

from workrail_site.local.ports import is_free, refuse_taken_port
from workrail_site.local.problems import SetupProblem


@pytest.fixture
def taken_port():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


def test_a_free_port_is_accepted(free_port):
    refuse_taken_port("127.0.0.1", free_port)

    assert is_free("127.0.0.1", free_port)


def test_a_taken_port_is_refused_with_one_that_is_free(taken_port):
    with pytest.raises(SetupProblem) as problem:
        refuse_taken_port("127.0.0.1", taken_port)

    assert f"port {taken_port} on 127.0.0.1 is taken" in problem.value.message
    offered = int(re.search(r"--port (\d+)", problem.value.next_move)[1])
    assert offered != taken_port
    assert is_free("127.0.0.1", offered)


def test_an_address_of_another_machine_is_refused(free_port):
    with pytest.raises(SetupProblem) as problem:
        refuse_taken_port("192.0.2.1", free_port)

    assert "cannot listen on 192.0.2.1" in problem.value.message
    assert "--host 127.0.0.1" in problem.value.next_move
