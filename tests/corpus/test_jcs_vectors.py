"""Canonical JSON as the original writes it, on its own examples and on every JSON document of the corpus."""

import json
from pathlib import Path

import pytest
import rfc8785

from workflows_app.engine import canonical

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "corpus"

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout")


def vectors():
    return json.loads((CORPUS / "rail" / "vectors" / "jcs.json").read_text(encoding="utf-8"))


def test_every_vector_is_written_byte_for_byte():
    rows = vectors()

    assert len(rows) > 20
    for row in rows:
        written = canonical.canonical_bytes(row["input"])
        assert written.decode() == row["canonical"]
        assert canonical.digest(written) == row["sha256"]


def test_every_document_of_the_corpus_has_the_reference_bytes():
    paths = sorted(path for path in CORPUS.glob("**/*.json") if path.parent.name != "vectors")

    assert len(paths) > 30
    for path in paths:
        document = json.loads(path.read_text(encoding="utf-8"))
        assert canonical.canonical_bytes(document) == rfc8785.dumps(document), path.name


def test_every_document_of_the_corpus_may_be_stored():
    for path in sorted(path for path in CORPUS.glob("**/*.json") if path.parent.name != "vectors"):
        data = path.read_bytes()
        assert canonical.loads_strict(data, max_bytes=len(data)) == json.loads(data), path.name
