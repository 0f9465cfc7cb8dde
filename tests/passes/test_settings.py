"""Inductor's settings: torch's own words about them, and what is refused."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any, Literal, Optional

import pytest
from torch._inductor import config

from hyperviz.passes.setting_docs import read_docs
from hyperviz.passes.setting_types import choices_of, fits, type_text
from hyperviz.passes.settings import check_settings, list_settings, parse_setting

SOURCE = '''
# one line
plain = 1

# two lines,
# the second
# pyrefly: ignore [bad-assignment]
annotated: int | None = read(  # type: ignore[assignment]
    "X"
)
bare = 2
beside = 3  # said behind it

# about the class
class parent:
    """Not a comment."""

    # the parent's word
    shared = True
    # the parent's other word
    own = True


class child(parent):
    # the child's word
    own = False
'''


def test_docs_are_the_comments_above_or_behind():
    assert read_docs(SOURCE) == {
        "plain": "one line",
        "annotated": "two lines,\nthe second",
        "beside": "said behind it",
        "parent.shared": "the parent's word",
        "parent.own": "the parent's other word",
        "child.own": "the child's word",
        "child.shared": "the parent's word",
    }


def test_every_setting_carries_torch_s_type_default_and_doc():
    settings = {setting.key: setting for setting in list_settings()}
    assert settings["max_autotune"].type == "bool"
    assert settings["max_autotune"].default == repr(config.max_autotune)
    assert settings["compile_threads"].type == "int | None"
    assert settings["force_disable_caches"].default == repr(config.force_disable_caches)  # an alias of another config's key
    assert "cudagraphs" in settings["triton.cudagraphs"].doc
    assert sum(bool(setting.doc) for setting in settings.values()) > len(settings) / 2
    assert not any(key.startswith("_") for key in settings)


@pytest.mark.parametrize("setting", [setting for setting in list_settings() if setting.choices], ids=lambda setting: setting.key)
def test_listed_choices_are_taken(setting):
    for choice in setting.choices:
        check_settings({setting.key: parse_setting(setting.key, choice)})


def test_torch_s_own_values_all_pass_and_nothing_is_changed():
    before = config.get_config_copy()
    check_settings(before)
    list_settings()
    parse_setting("max_autotune", "True")
    assert config.get_config_copy() == before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_autotun": True}, r"unknown Inductor setting 'max_autotun'; did you mean 'max_autotune'"),
        ({"cudagraphs": True}, r"unknown Inductor setting 'cudagraphs'; did you mean 'triton\.cudagraphs'\?"),
        ({"eager_numerics.division_roundin": True}, r"did you mean 'eager_numerics\.division_rounding'"),
        ({"qqqqqq": True}, r"unknown Inductor setting 'qqqqqq'; torch\._inductor\.config has no name like it"),
        ({3: True}, r"unknown Inductor setting 3"),
        ({"max_autotune": 1}, r"Inductor setting 'max_autotune' must be bool, got 1 \(int\)"),
        ({"compile_threads": True}, r"'compile_threads' must be int \| None, got True \(bool\)"),
        ({"memory_pool": "nonee"}, r"'memory_pool' must be Literal\['none', .*'combined'\], got 'nonee' \(str\)"),
        ({"max_autotune": True, "max_autotune_gemm": "yes"}, r"'max_autotune_gemm' must be bool"),
        (["max_autotune"], r"must be a mapping of names to values, got list"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        check_settings(settings)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("max_autotune", " True ", True),
        ("compile_threads", "None", None),
        ("compile_threads", "4", 4),
        ("cpu_gpu_bw", "32", 32),
        ("memory_pool", "none", "none"),
        ("memory_pool", "'none'", "none"),
        ("max_autotune_gemm_backends", "ATEN,TRITON", "ATEN,TRITON"),
        ("unsafe_marked_cacheable_functions", "{'f': 'key'}", {"f": "key"}),
    ],
)
def test_typed_text_becomes_a_value(key, text, value):
    parsed = parse_setting(key, text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("key", "text"),
    [("max_autotune", "true"), ("max_autotune", ""), ("compile_threads", "1+1"), ("compile_threads", "2.0"), ("no_such", "1")],
)
def test_typed_text_of_another_type_is_refused(key, text):
    with pytest.raises(ValueError, match=key):
        parse_setting(key, text)


@pytest.mark.parametrize(
    ("value", "annotation", "fit"),
    [
        (True, bool, True),
        (1, bool, False),
        (1, int, True),
        (True, int, False),
        (1, float, True),
        (False, float, False),
        (None, int | None, True),
        (None, Optional[int], True),  # noqa: UP045
        (None, int, False),
        ("b", Literal["a", "b"], True),
        (1, Literal["1"], False),
        (True, Literal[1], False),
        ([1, 2], list[int], True),
        ([1, "2"], list[int], False),
        ((1, 2), list[int], False),
        ((1, 2, 3), tuple[int, int, int], True),
        ((1, 2), tuple[int, int, int], False),
        ((1, (2, 3)), tuple[int | tuple[int, ...], ...], True),
        ((None, "g++"), tuple[None, str], True),
        ({"a": 1}, dict[str, int], True),
        ({"a": "1"}, dict[str, int], False),
        (len, Callable[[object], int] | None, True),
        (3, Callable[[object], int] | None, False),
        (object(), Any, True),
        (object(), type(None), True),
        (object(), "InductorChoices | None", True),
    ],
)
def test_what_fits_a_declared_type(value, annotation, fit):
    assert fits(value, annotation) is fit


def test_types_read_as_people_write_them():
    assert type_text(bool) == "bool"
    assert type_text(Optional[int]) == "int | None"  # noqa: UP045
    assert type_text(dict[str, list[int]]) == "dict[str, list[int]]"
    assert type_text(tuple[int, ...]) == "tuple[int, ...]"
    assert type_text(Callable[[int], str] | None) == "Callable | None"
    assert type_text(type(None)) == "Any"
    assert choices_of(Optional[Literal["assert", "log"]]) == ("assert", "log")  # noqa: UP045


def test_inductor_is_not_imported_before_a_setting_is_looked_at():
    code = "import sys, hyperviz.passes.settings; sys.exit('torch._inductor.config' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
