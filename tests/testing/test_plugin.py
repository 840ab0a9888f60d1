"""The plugin and the rule of ``CI=true``, each seen from outside by a pytest of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from konstat.testing.rig_binaries import ASSETS_VARIABLE, Binaries

pytest_plugins = ["pytester"]

ASKS_FOR_IT = """
    def test_it(control_plane):
        raise AssertionError("unreachable without programs")
"""

SKIPS = """
    import pytest

    def test_skipped():
        pytest.skip("no such thing here")

    @pytest.mark.xfail(reason="known")
    def test_expected_failure():
        raise AssertionError
"""


@pytest.fixture
def nothing_installed(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("KONSTAT_CACHE", str(pytester.path / "cache"))
    monkeypatch.delenv("CI", raising=False)


@pytest.mark.usefixtures("nothing_installed")
def test_missing_programs_skip_loudly(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(ASKS_FOR_IT)
    result = pytester.runpytest_subprocess("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*konstat rig build*"])


@pytest.mark.usefixtures("nothing_installed")
def test_missing_programs_fail_in_ci(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    pytester.makepyfile(ASKS_FOR_IT)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*CI=true and no control plane programs*konstat rig build*"])


@pytest.mark.usefixtures("nothing_installed")
def test_tests_that_need_the_rig_carry_the_marker(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        def test_direct(control_plane): ...
        def test_through_another(namespace): ...
        def test_of_its_own(rig_binaries): ...
        def test_plain(): ...
    """)
    result = pytester.runpytest_subprocess("--strict-markers", "-m", "not realapi")
    result.assert_outcomes(passed=1, deselected=3)


def test_an_operators_tests_use_the_fixtures(
    pytester: pytest.Pytester, rig_binaries: Binaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    # pytester gives its run a home of its own, where nothing is built.
    monkeypatch.setenv(ASSETS_VARIABLE, str(rig_binaries.folder))
    pytester.makepyfile("""
        from konstat.objects.kind import Kind
        from konstat.testing import Options

        SECRET = Kind(group="", version="v1", kind="Secret", plural="secrets")

        async def test_async(control_plane, namespace):
            async with control_plane.client() as client:
                assert await client.list(SECRET, namespace=namespace) == []

        def test_plain(start_control_plane, control_plane):
            other = start_control_plane(Options(controller_manager=False, scheduler=False))
            assert other.server != control_plane.server
    """)
    settings = ["-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function"]
    result = pytester.runpytest_subprocess(*settings, "-W", "error")
    result.assert_outcomes(passed=2)


@pytest.fixture
def our_conftest(pytester: pytest.Pytester) -> None:
    pytester.makeconftest((Path(__file__).parents[1] / "conftest.py").read_text())


@pytest.mark.usefixtures("our_conftest")
def test_skips_fail_in_ci(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    pytester.makepyfile(SKIPS)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=1, xfailed=1)
    result.stdout.fnmatch_lines(["*CI=true and something is missing*no such thing here*"])


@pytest.mark.usefixtures("our_conftest")
def test_a_skipped_module_fails_in_ci(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    pytester.makepyfile("import pytest\npytest.importorskip('no_such_module')\n")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)


@pytest.mark.usefixtures("our_conftest")
def test_skips_are_skips_elsewhere(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    pytester.makepyfile(SKIPS)
    pytester.runpytest_subprocess().assert_outcomes(skipped=1, xfailed=1)
