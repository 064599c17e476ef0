"""What a spec says is what runs; what it should not say is refused with file, key and reason."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from codeai_engine import open_engine, open_ledger, read_fanout
from codeai_engine.digests import sha256_hex
from codeai_engine.domain.check import ExitCodePolicy
from codeai_engine.errors import SpecError
from codeai_engine.spec import load_checks, load_spec

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
        ('call_id = "call-B"', '[[check]]\nid = "c"', "check[0]", "key 'omit_lineage'; allowed: "),
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


CHECKS = """
[[claim]]
id = "a-ok"
branch = "A"
statement_pointer = "/ok"
[[claim]]
id = "b-ok"
branch = "B"
statement = "B is right."
[[check]]
id = "a-json"
branch = "A"
command = ["python", "check_json.py", "{artifact}"]
artifact = "output"
state = { resolver = "file", path = "paragraph.md", expect = "at_start" }
policy = { pass = [0], fail = [1], inconclusive = [2] }
claims = ["a-ok"]
timeout_s = 10
environment = { LANG = "C" }
environment_from = ["TOKEN"]
[[check]]
id = "base"
branch = "*"
command = ["grep", "x", "{artifact}"]
artifact = "paragraph"
"""


def test_claims_and_checks_become_plans(folder: Path) -> None:
    request = load_spec(write(folder, SPEC + CHECKS))
    said, stated = request.claims
    assert (said.claim_id, said.branch, said.pointer) == ("a-ok", "A", "/ok")
    assert (stated.statement, stated.pointer) == ("B is right.", None)
    json_check, base_check = request.checks
    asked = json_check.asked
    assert (json_check.branch, json_check.of_output, asked.target) == ("A", True, None)
    assert asked.command == ("python", "check_json.py", "{artifact}")
    assert asked.verdict_policy == ExitCodePolicy((0,), (1,), (2,))
    assert (asked.claim_ids, asked.timeout_s, asked.task_id) == (("a-ok",), 10, "t-1")
    assert (asked.environment, asked.environment_from) == ({"LANG": "C"}, ("TOKEN",))
    assert asked.cwd == str(folder)
    assert json_check.resolver is not None
    assert json_check.at_start
    assert asked.target_state_hash is None
    digest = sha256_hex(b"The paragraph.")
    assert base_check.asked.target == f"artifact:sha256:{digest}"
    assert base_check.asked.verdict_policy is None
    assert base_check.resolver is None


def test_a_state_by_its_digest_is_not_read_at_the_start(folder: Path) -> None:
    digest = "a" * 64
    (check, _) = load_spec(write(folder, SPEC + CHECKS.replace("at_start", digest))).checks
    assert (check.asked.target_state_hash, check.at_start) == (digest, False)


@pytest.mark.parametrize(
    ("old", "new", "key", "reason"),
    [
        ('claims = ["a-ok"]', 'clams = ["a-ok"]', "check[0]", "unknown key 'clams'; allowed: id"),
        ("pass = [0]", "passes = [0]", "check[0].policy", "allowed: pass, fail, inconclusive"),
        ("fail = [1]", "fail = [0]", "check[0].policy", "exit code 0 in two ways"),
        ("fail = [1]", "fail = [256]", "check[0].policy", "256"),
        ("timeout_s = 10", "timeout_s = inf", "check[0].timeout_s", "finite"),
        ("timeout_s = 10", "timeout_s = 0", "check[0].timeout_s", "greater than 0"),
        ('LANG = "C"', "LANG = 1", "check[0].environment.LANG", "string"),
        ('resolver = "file", ', "", "check[0].state.resolver", "is missing"),
        ('resolver = "file"', 'resolver = "moon"', "check[0].state.resolver", "folder, git"),
        ('path = "paragraph.md", expect', "expect", "check[0].state.path", "required"),
        ("at_start", "later", "check[0].state.expect", "64 lower-case hex digits, not 'later'"),
        ('artifact = "paragraph"', 'artifact = "p"', "check[1].artifact", "output, paragraph"),
        ('id = "base"', 'id = "a-json"', "check id", "'a-json' is used 2 times"),
        ('id = "b-ok"', 'id = "a-ok"', "claim id", "'a-ok' is used 2 times"),
        ('branch = "*"\n', "", "", "check[1] needs a branch"),
        ('branch = "*"', 'branch = "C"', "check 'base'.branch", "no branch 'C'; allowed: A, B"),
        ('branch = "B"', 'branch = "*"', "claim 'b-ok'.branch", "allowed: A, B"),
        ('claims = ["a-ok"]', 'claims = ["b-ok"]', "check 'a-json'.claims", "about branch 'B'"),
        ('statement_pointer = "/ok"', "", "claim[0]", "exactly one of: statement, "),
        ('pointer = "/ok"', 'pointer = "ok"', "claim[0]", "'ok' is no JSON pointer"),
        ('statement = "B is right."', 'statement = ""', "claim[1].statement", "at least 1"),
    ],
)
def test_a_claim_or_check_that_does_not_fit_is_refused_by_its_key(
    folder: Path, old: str, new: str, key: str, reason: str
) -> None:
    assert old in CHECKS
    with pytest.raises(SpecError) as refused:
        load_spec(write(folder, SPEC + CHECKS.replace(old, new)))
    assert refused.value.key == key
    assert reason in refused.value.reason


CHECK_FILE = """
spec = 1
task = { id = "t-1" }
base = [ { name = "paragraph", file = "paragraph.md" } ]
[[claim]]
id = "right"
statement = "The paragraph is right."
[[check]]
id = "look"
command = ["grep", "x", "{artifact}"]
artifact = "paragraph"
claims = ["right"]
"""


def test_a_file_of_checks_brings_the_bytes_that_they_look_at(folder: Path) -> None:
    request = load_checks(write(folder, CHECK_FILE))
    (check,) = request.checks
    assert check.subject is not None
    assert check.subject.content == b"The paragraph."
    assert check.asked.target == f"artifact:sha256:{check.subject.artifact_id}"
    assert (request.task_id, request.claims[0].statement) == ("t-1", "The paragraph is right.")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("[[claim]]", '[fanout]\nprompt = "x"\n[[claim]]', "a file of checks runs no branch"),
        ('id = "look"', 'id = "look"\nbranch = "A"', "check[0].branch: a file of checks runs no"),
        ('"paragraph"\nclaims', '"output"\nclaims', "check[0].artifact: there is no output"),
        ("statement = ", "statement_pointer = ", "no JSON pointer"),
        ('id = "t-1"', 'objective = "x"', "unknown key 'objective'; allowed: id"),
        (
            'file = "paragraph.md"',
            'file = "paragraph.md", lineage = ["x"]',
            "unknown key 'lineage'",
        ),
        ('file = "paragraph.md"', 'event = "e"', "allowed: name, file, artifact"),
        (', file = "paragraph.md"', "", "exactly one of: file, artifact"),
        (
            'statement = "The paragraph is right."',
            'statement_pointer = "/ok"',
            "claim[0] needs a statement",
        ),
    ],
)
def test_a_file_of_checks_has_no_branches(folder: Path, old: str, new: str, reason: str) -> None:
    assert old in CHECK_FILE
    with pytest.raises(SpecError) as refused:
        load_checks(write(folder, CHECK_FILE.replace(old, new)))
    assert reason in refused.value.reason


async def test_a_key_that_one_adapter_names_is_in_no_commands_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "secret")
    code = "import os; print('SOME_KEY' in os.environ, 'PATH' in os.environ)"
    text = SPEC.replace(
        "[[branch]]",
        '[adapter.provider]\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n'
        'api_key_env = "SOME_KEY"\n[[branch]]',
        1,
    ).replace('"pass"', json.dumps(code))
    request = load_spec(write(folder, text))
    async with open_engine(folder / "l.db") as engine:
        outcome = await engine.run_fanout(request)
    with open_ledger(folder / "l.db") as ledger:
        branches = read_fanout(ledger, outcome.fanout_id).branches
    assert {branch.output.text for branch in branches if branch.output} == {"False True\n"}


@pytest.mark.parametrize("name", ["gsk_abcDEF0123", "sk-12345", ""])
def test_a_key_in_the_place_of_its_variables_name_is_refused(folder: Path, name: str) -> None:
    provider = f'kind = "openai", base_url = "http://h/v1", model = "m", api_key_env = "{name}"'
    table = f"[adapter]\np = {{ {provider} }}"
    with pytest.raises(SpecError, match="api_key_env"):
        load_spec(write(folder, SPEC.replace("[adapter]", table)))


def test_a_password_in_an_url_is_not_repeated(folder: Path) -> None:
    table = 'p = { kind = "openai", base_url = "https://user:s3cr3t/x@host", model = "m" }'
    with pytest.raises(SpecError) as refused:
        load_spec(write(folder, SPEC.replace("[adapter]", f"[adapter]\n{table}")))
    assert "s3cr3t" not in str(refused.value)
