"""The declared types are what type checkers see: basedpyright runs on the files beside this one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

FILES = sorted(p for p in Path(__file__).parent.glob("*.py") if not p.name.startswith("test_"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_type_checker_agrees(file: Path) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "basedpyright", "--outputjson", str(file)]
    result = subprocess.run(
        command, cwd=root, capture_output=True, text=True, check=False, timeout=120
    )
    report = json.loads(result.stdout)
    assert report["summary"]["filesAnalyzed"] == 1
    found = [
        f"line {entry['range']['start']['line'] + 1}: {entry['message']}"
        for entry in report["generalDiagnostics"]
        if entry["severity"] in ("error", "warning")
    ]
    assert found == []
