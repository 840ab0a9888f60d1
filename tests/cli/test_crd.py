from __future__ import annotations

import json

import pytest
import yaml

from konstat.base.yamltext import load_yaml_documents

pytestmark = pytest.mark.usefixtures("webapp")


def test_crd_prints_yaml_documents(run_konstat) -> None:
    result = run_konstat("crd", "webapp.py")
    assert result.exit_code == 0
    assert result.stdout.startswith("---\napiVersion: apiextensions.k8s.io/v1\n")
    (document,) = load_yaml_documents(result.stdout, source="standard output")
    assert document["metadata"]["name"] == "webapps.demo.example.com"


def test_crd_prints_one_list_as_json_that_says_the_same(run_konstat) -> None:
    content = json.loads(run_konstat("crd", "webapp.py:WebApp", "-o", "json").stdout)
    assert content["kind"] == "List"
    assert content["items"] == list(yaml.safe_load_all(run_konstat("crd", "webapp.py").stdout))


def test_crd_writes_no_anchors(run_konstat) -> None:
    assert "&id" not in run_konstat("crd", "webapp.py").stdout
