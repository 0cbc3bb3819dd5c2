"""The schemas of workflow files have an address that an editor reads without an account."""

import pytest

from workflows_app.engine.json_schemas import SCHEMAS


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_read_without_an_account(client, name):
    response = client.get(f"/schemas/{name}.json")

    assert (response.status_code, response.json()) == (200, SCHEMAS[name]())
    assert response["Content-Type"] == "application/schema+json"
    assert "public" in response["Cache-Control"]


def test_an_unknown_schema_is_not_there(client):
    assert client.get("/schemas/steps-9.json").status_code == 404
    assert client.post("/schemas/activity.json").status_code == 405
