"""No archive costs more work than an honest one of its size: parts, headers and maps that multiply it are refused."""

import gzip
import io
import os
import struct
import tarfile
import time
import zipfile

import pytest

from workflows_app.engine.archives import MAX_GZIP_PARTS
from workflows_app.engine.intake import unpack

SIZE = 4 * 1024 * 1024
# An honest archive of the size, many times over. What multiplied its work by its size would take a thousand times that.
ALLOWED = 30


def header(name, kind, size):
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.USTAR_FORMAT)


def block(data):
    return data + b"\x00" * (-len(data) % tarfile.BLOCKSIZE)


def extended(body, kind=tarfile.XHDTYPE, name="f"):
    return header("x", kind, len(body)) + block(body) + header(name, tarfile.REGTYPE, 0)


def record(key, value):
    length = len(key) + len(value) + 3
    while len(written := b"%d %s=%s\n" % (length, key, value)) != length:
        length = len(written)
    return written


def sparse():
    head = b"".join(
        record(key, value)
        for key, value in [(b"GNU.sparse.major", b"1"), (b"GNU.sparse.minor", b"0"), (b"GNU.sparse.realsize", b"1")]
    )
    places = b"400000\n" + b"".join(b"%d\n0\n" % number for number in range(400_000))
    return header("x", tarfile.XHDTYPE, len(head)) + block(head) + header("f", b"0", len(places)) + block(places)


def honest():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression=zipfile.ZIP_DEFLATED) as archive:
        for number in range(4):
            archive.writestr(f"f{number}", os.urandom(SIZE // 4))
    return buffer.getvalue()


BOMBS = {
    "empty parts": ("a.tgz", gzip.compress(b"", mtime=0) * (SIZE // 20)),
    "a few parts and noise": ("a.tgz", gzip.compress(b"", mtime=0) * MAX_GZIP_PARTS + os.urandom(SIZE)),
    "empty blocks": (
        "a.tgz",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
        + b"\x00\x00\x00\xff\xff" * (SIZE // 5)
        + b"\x03\x00"
        + struct.pack("<II", 0, 0),
    ),
    "records": ("a.tar", extended(b"8 a=bcd\n" * (SIZE // 8))),
    "digits": ("a.tar", extended(b"1" * SIZE)),
    "digits in a record": ("a.tar", extended(record(b"a", b"1" * SIZE))),
    "digits in many records": (
        "a.tar",
        b"".join(extended(record(b"a", b"1" * 8000), name=f"f{number}") for number in range(SIZE // 9216)),
    ),
    "records without an end": (
        "a.tar",
        b"".join(extended(b"5 aaa" * 1600 + b"=", name=f"f{number}") for number in range(SIZE // 9216)),
    ),
    "a chain of headers": ("a.tar", (header("g", tarfile.XGLTYPE, 11) + block(b"11 a=bcdef\n")) * (SIZE // 1024)),
    "a sparse list": ("a.tar", sparse()),
    "a sparse map": ("a.tar", extended(record(b"GNU.sparse.map", b",".join(b"%d,0" % n for n in range(400_000))))),
    "a long name": ("a.tar", extended(b"a/" * (SIZE // 2), kind=tarfile.GNUTYPE_LONGNAME)),
    "ends of a zip": ("a.zip", b"PK\x03\x04" + b"PK\x05\x06" * (SIZE // 4)),
    "entries of a zip": ("a.zip", b"PK\x03\x04" + b"PK\x01\x02" * (SIZE // 4)),
}


def work_of(data, filename):
    began = time.process_time()
    unpack(data=data, filename=filename)
    return time.process_time() - began


@pytest.fixture(scope="module")
def plain():
    data = honest()
    return max(work_of(data, "a.zip"), 0.01)


@pytest.mark.parametrize("name", BOMBS)
def test_an_archive_is_refused_for_little_work(name, plain):
    filename, data = BOMBS[name]

    assert work_of(data, filename) < ALLOWED * plain
    assert unpack(data=data, filename=filename)[1]


def test_a_gzip_of_a_few_parts_is_read():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo("é" * 100)
        info.size = 3
        archive.addfile(info, io.BytesIO(b"abc"))
    data = buffer.getvalue()
    parts = b"".join(gzip.compress(part, mtime=0) for part in (data[:1000], b"", data[1000:]))

    files, problems = unpack(data=parts, filename="a.tgz")

    assert (list(files.values()), problems) == ([b"abc"], ())
