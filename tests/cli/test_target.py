from __future__ import annotations

import sys
from pathlib import Path

import pytest

from konstat.cli.target import Target, load_controllers, load_resources
from konstat.errors import TargetError


def _names(target: str) -> list[str]:
    return [controller.kind.kind for controller in load_controllers(target)]


@pytest.mark.parametrize(
    ("text", "source", "attribute"),
    [
        ("webapp.py", "webapp.py", ""),
        ("a/b.py:webapps", "a/b.py", "webapps"),
        ("shop.operators", "shop.operators", ""),
        ("shop.operators:all.webapps", "shop.operators", "all.webapps"),
        ("odd:folder/webapp.py:webapps", "odd:folder/webapp.py", "webapps"),
    ],
)
def test_a_target_is_split_at_its_last_colon(text: str, source: str, attribute: str) -> None:
    assert Target.parse(text) == Target(source, attribute)


@pytest.mark.usefixtures("webapp")
@pytest.mark.parametrize("target", ["webapp.py", "webapp.py:webapps", "webapp", "webapp:webapps"])
def test_a_file_and_a_module_with_and_without_attribute(target: str) -> None:
    assert _names(target) == ["WebApp"]


def test_a_file_elsewhere_finds_the_modules_beside_it(write, webapp: Path, folder: Path) -> None:
    webapp.unlink()
    write("deep/beside_it.py", "NAME = 'beside it'")
    write("deep/operators.py", f"from beside_it import NAME\n{webapp_text()}")
    assert _names(str(folder / "deep" / "operators.py")) == ["WebApp"]
    assert "operators" in sys.modules
    assert _names("deep/operators.py") == ["WebApp"], "loaded once, found again"


def test_a_module_of_a_package_may_import_relatively(write) -> None:
    write("shop/__init__.py", "")
    write("shop/parts.py", webapp_text())
    write("shop/operators.py", "from .parts import webapps")
    assert _names("shop.operators") == ["WebApp"]


def test_each_controller_counts_once_and_in_order(write) -> None:
    write(
        "several.py",
        webapp_text()
        + """
class Job2(Resource[WebAppSpec, WebAppStatus], group="demo.example.com", version="v1"):
    pass

same = webapps
everything = [Controller(Job2), webapps]
""",
    )
    assert _names("several.py") == ["WebApp", "Job2"]
    assert _names("several.py:everything") == ["Job2", "WebApp"]


def test_crd_takes_a_class_a_controller_and_a_file_without_controllers(write) -> None:
    text = webapp_text()
    write("models.py", text[: text.index("webapps =")])
    write("webapp.py", text)
    for target in ("models.py", "models.py:WebApp", "webapp.py", "webapp.py:webapps"):
        assert [cls.kind.kind for cls in load_resources(target)] == ["WebApp"], target


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("absent.py", "absent.py does not exist"),
        ("web_app.py", "did you mean webapp.py?"),
        ("notes.txt:webapps", "notes.txt is not a Python file"),
        ("./notes.txt", "notes.txt is not a Python file"),
        ("./webapp", "did you mean webapp.py?"),
        ("./", "is a folder"),
        ("web-app", "'web-app' is neither a file nor a module"),
        ("", "'' is neither a file nor a module"),
        ("webapp.py:web apps", "'web apps' is not the name of an attribute"),
        ("webapp.py:webaps", "has no attribute 'webaps': did you mean webapps?"),
        ("webapp.py:zzz", "its controllers are webapps"),
        ("webapp.py:reconcile", "webapp.py:reconcile is a function: name a Controller"),
        ("webapp.py:WebApp", "is the class WebApp: name a Controller"),
        ("nowhere.operators", "there is no module 'nowhere'"),
        ("webapp.operators", "there is no module 'webapp.operators'"),
    ],
)
@pytest.mark.usefixtures("webapp")
def test_a_wrong_target_is_told_what_is_wrong(write, target: str, says: str) -> None:
    write("notes.txt", "")
    with pytest.raises(TargetError) as caught:
        load_controllers(target)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1\ndef f(:\n", "broken.py, line 2: invalid syntax: def f(:"),
        ("x = 1\nimport nowhere_at_all\n", "broken.py, line 2: no module named 'nowhere_at_all'"),
        ("from json import nothing\n", "broken.py, line 1: cannot import name 'nothing'"),
        ("from .parts import x\n", "run it as package.module"),
        ("x = {}['key']\n", "broken.py, line 1: KeyError: 'key'"),
        ("import json\n\njson.loads('{')\n", "broken.py, line 3: JSONDecodeError"),
        ("raise SystemExit(3)\n", "broken.py, line 1: the program ends (SystemExit 3)"),
        ("raise ValueError\n", "broken.py, line 1: ValueError"),
        (
            "from konstat.controller import Controller\nController(int)\n",
            "broken.py, line 2: the resource of a Controller takes a Resource class",
        ),
        ("import helpers_of_mine\n", "helpers_of_mine.py, line 1: ZeroDivisionError"),
        ("import broken_too\n", "broken_too.py, line 1: "),
    ],
)
def test_a_file_that_fails_names_the_authors_line(write, text: str, says: str) -> None:
    write("helpers_of_mine.py", "1 / 0")
    write("broken_too.py", "x = (")
    write("broken.py", text)
    with pytest.raises(TargetError) as caught:
        load_controllers("broken.py")
    assert says in str(caught.value)
    assert "broken" not in sys.modules, "half a module must not stay"


def test_a_module_that_fails_can_be_mended_and_loaded(write) -> None:
    write("mended.py", "1 / 0")
    with pytest.raises(TargetError):
        load_controllers("mended")
    write("mended.py", webapp_text())
    assert _names("mended") == ["WebApp"]


def test_a_file_must_not_take_the_name_of_a_loaded_module(write) -> None:
    write("operator.py", webapp_text())
    with pytest.raises(TargetError, match=r"a module called 'operator' is loaded already"):
        load_controllers("operator.py")


def test_a_file_without_controllers_is_told_what_to_write(write) -> None:
    text = webapp_text()
    write("models.py", text[: text.index("webapps =")])
    with pytest.raises(TargetError, match=r"write webapps = Controller\(WebApp\)"):
        load_controllers("models.py")
    write("empty.py", "")
    with pytest.raises(TargetError, match=r"has no Controller \(it has nothing\)"):
        load_controllers("empty.py")
    with pytest.raises(TargetError, match=r"declares no Controller and no Resource class"):
        load_resources("empty.py")


def test_an_interrupt_while_importing_is_not_an_error_of_the_file(write) -> None:
    write("slow.py", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load_controllers("slow.py")


def webapp_text() -> str:
    from inspect import cleandoc

    return (
        cleandoc(
            """
        from konstat.controller import Controller
        from konstat.objects.model import Spec, Status
        from konstat.objects.resource import Resource

        class WebAppSpec(Spec):
            image: str

        class WebAppStatus(Status):
            ready_replicas: int = 0

        class WebApp(Resource[WebAppSpec, WebAppStatus], group="demo.example.com", version="v1"):
            pass

        webapps = Controller(WebApp)
        """
        )
        + "\n"
    )
