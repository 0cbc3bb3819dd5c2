import io

from workrail_site.local.log_stream import LogStream


def test_each_line_is_written_under_the_name_of_its_child():
    out = io.StringIO()
    stream = LogStream(out)

    stream(name="web", line="GET /healthz")
    stream(name="postgres", line="ready")

    assert out.getvalue() == "web      | GET /healthz\npostgres | ready\n"


def test_empty_lines_and_advice_about_the_kernel_are_left_out():
    out = io.StringIO()
    stream = LogStream(out)

    stream(name="valkey", line="")
    stream(name="valkey", line="WARNING Memory overcommit must be enabled! Without it …")

    assert out.getvalue() == ""


def test_a_reader_who_left_does_not_stop_the_children():
    out = io.StringIO()
    out.close()

    LogStream.__call__(_with_out(out), name="web", line="still serving")


def _with_out(out):
    stream = LogStream(io.StringIO())
    stream._out = out
    return stream
