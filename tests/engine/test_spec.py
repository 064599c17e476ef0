"""What a spec says is what runs; what it should not say is refused with file, key and reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from codeai_engine.errors import SpecError
from codeai_engine.spec import load_spec

if TYPE_CHECKING:
    from pathlib import Path

SPEC = """
spec = 1
task = { id = "t-1", objective = "Is it right?" }
base = [
  { name = "paragraph", file = "paragraph.md", lineage_none = { by = "editor", why = "by hand" } },
  { name = "earlier", file = "earlier.md", lineage = ["call-old"] },
]
[fanout]
instruction = "Review."
prompt = "A\\n---\\nB"
required = ["paragraph"]
concurrency = 3
timeout_s = 60
seal = { lineage = ["secret"] }
[adapter]
echo = { kind = "command", argv = ["python", "-c", "pass"], success_codes = [0, 1] }
[[branch]]
name = "A"
actor = { id = "reviewer-a", kind = "tool" }
adapter = "echo"
variant = { prompt_variant = "v1", temperature = 0.0, seed = 7 }
parameters = { max_output_tokens = 300 }
[[branch]]
name = "B"
adapter = "echo"
call_id = "call-B"
omit_lineage = ["earlier"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "paragraph.md").write_text("The paragraph.")
    (tmp_path / "earlier.md").write_text("An earlier review.")
    return tmp_path


def write(folder: Path, text: str) -> Path:
    path = folder / "spec.toml"
    path.write_text(text)
    return path


def test_a_spec_becomes_a_request(folder: Path) -> None:
    request = load_spec(write(folder, SPEC))
    paragraph, earlier = request.base
    assert (request.task_id, request.objective) == ("t-1", "Is it right?")
    assert request.prompt == "A\n---\nB"  # opaque: a ruler of dashes makes no second prompt
    assert request.required == frozenset({paragraph.key})
    assert paragraph.declared_none == ("editor", "by hand")
    assert earlier.lineage == ("call-old",)
    assert request.seal.forbidden_lineage_ids == {"secret"}
    a, b = request.branches
    assert (a.actor.actor_id, a.actor.kind) == ("reviewer-a", "tool")
    assert (b.call_id, b.omit_lineage) == ("call-B", frozenset({earlier.key}))
    assert a.call_id != b.call_id


def test_an_empty_required_list_requires_nothing_and_an_absent_one_requires_artifacts(
    folder: Path,
) -> None:
    empty = load_spec(write(folder, SPEC.replace('["paragraph"]\nconc', "[]\nconc")))
    absent = load_spec(write(folder, SPEC.replace('required = ["paragraph"]\n', "")))
    assert [empty.is_required(item) for item in empty.base] == [False, False]
    assert [absent.is_required(item) for item in absent.base] == [True, True]


@pytest.mark.parametrize(
    ("old", "new", "key", "reason"),
    [
        ("spec = 1", "spec = 2", "spec", "1"),
        ("concurrency = 3", "concurency = 3", "fanout", "unknown key 'concurency'; allowed: "),
        ("concurrency = 3", "concurrency = 0", "fanout.concurrency", "greater than or equal to 1"),
        ('adapter = "echo"\ncall_id', 'adapter = "ekho"\ncall_id', "branch[1].adapter", "echo"),
        ('file = "earlier.md"', 'file = "gone.md"', "base[1].file", "there is no file"),
        ('file = "earlier.md",', "", "base[1]", "exactly one of: file, artifact, event, claim"),
        ('"command"', '"carrier-pigeon"', "adapter.echo.kind", "openai"),
        ('"command"', '"anthropic"', "adapter.echo.kind", "not in this release"),
        ('argv = ["python", "-c", "pass"]', "argv = []", "adapter.echo.argv", ""),
        ('required = ["paragraph"]', 'required = ["para"]', "fanout.required", "paragraph"),
        ("timeout_s = 60", "timeout_s = 60\nbudget_tokens = 1", "fanout.budget_tokens", "over"),
        ("timeout_s = 60", 'provenance_policy = "refuse"', "fanout.provenance_policy", "refuse"),
        ("temperature = 0.0", "temperature = nan", "branch 'A'.variant.temperature", "nan"),
        ('name = "B"', 'name = "A"', "branch name", "'A' is used 2 times"),
        ('call_id = "call-B"', '[[check]]\nid = "c"', "", "'check' is not in this release"),
        ('prompt = "A', 'prompt_file = "gone.txt"\n#', "fanout.prompt_file", "there is no file"),
        ("[fanout]", "[fanout", "", "is not TOML"),
    ],
)
def test_bad_input_names_file_key_and_what_is_allowed(
    folder: Path, old: str, new: str, key: str, reason: str
) -> None:
    assert old in SPEC
    path = write(folder, SPEC.replace(old, new))
    with pytest.raises(SpecError) as refused:
        load_spec(path)
    assert refused.value.path == str(path)
    assert refused.value.key == key
    assert reason in refused.value.reason


def test_a_spec_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="there is no file"):
        load_spec(tmp_path / "none.toml")
    with pytest.raises(SpecError, match="cannot read"):
        load_spec(tmp_path)
    (tmp_path / "spec.toml").write_bytes(b"spec = 1 # \xff")
    with pytest.raises(SpecError, match="not UTF-8 at byte 11"):
        load_spec(tmp_path / "spec.toml")
