"""Real programs: what they get, what is kept of them, and that nothing of them is left."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from pydantic import ValidationError

from codeai_engine.adapters.base import CallInput, Observation
from codeai_engine.adapters.command import CommandAdapter, from_settings
from codeai_engine.digests import sha256_hex, text_digest
from codeai_engine.errors import PrepareError, ProviderError, SendError
from codeai_engine.processes import find_program
from tests.engine.adapters.wires import Holders, WatchedWire

if TYPE_CHECKING:
    from codeai_engine.adapters.base import Interpretation, Wire

ECHO = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"
SLEEPER = 'exec 9<>"$0"; sleep 600 & echo ready; wait'
STUBBORN = f"trap '' TERM; {SLEEPER}; wait"


@pytest.fixture
def holders(tmp_path: Path) -> Holders:
    return Holders(tmp_path)


def command(*argv: str, **settings: Any) -> CommandAdapter:
    return from_settings({"kind": "command", "argv": list(argv)} | settings)


def python(code: str, **settings: Any) -> CommandAdapter:
    return command("python", "-c", code, **settings)


async def ask(adapter: CommandAdapter, text: str = "text", wire: Wire | None = None) -> Observation:
    return await adapter.send(adapter.prepare(CallInput(text)), wire or WatchedWire())


async def read(adapter: CommandAdapter, text: str = "text") -> Interpretation:
    return adapter.interpret(await ask(adapter, text))


@pytest.mark.parametrize(
    "text", ["", "a line\n", "Zürich 東京 \U0001f99c", "NUL \x00, escape \x1b[31m, \r\n"]
)
async def test_standard_input_is_exactly_the_text(text: str) -> None:
    wire = WatchedWire()
    observation = await ask(python(ECHO), text, wire)
    assert observation.body == text.encode()
    assert wire.sending_count == 1
    assert wire.account() == "sent"
    assert wire.observation is not None
    assert wire.observation.request_sha256 == text_digest(text)
    assert wire.observation.request_bytes == len(text.encode())
    assert wire.observation.response_sha256 == sha256_hex(observation.body)


async def test_input_and_output_larger_than_a_pipe_pass_at_once() -> None:
    text = "0123456789abcdef" * 40_000
    echo = (
        "import os, sys\n"
        "while chunk := os.read(0, 4096):\n"
        "    os.write(1, chunk); os.write(2, chunk)\n"
    )
    observation = await ask(python(echo), text)
    assert observation.body == text.encode()
    assert observation.stderr == text.encode()


async def test_a_program_that_does_not_read_its_input_is_no_failure() -> None:
    adapter = python("print('never read it')")
    wire = WatchedWire()
    observation = await ask(adapter, "x" * 1_000_000, wire)
    assert observation.body == b"never read it\n"
    assert adapter.interpret(observation).status == "succeeded"
    # Not all of it is in the pipe: it was not sent whole, and the account says what was.
    assert wire.account() == "unknown"
    assert wire.observation is not None
    assert wire.observation.request_bytes < 1_000_000
    assert wire.observation.request_sha256 == text_digest("x" * wire.observation.request_bytes)


async def test_standard_error_and_exit_code_are_kept_beside_the_output() -> None:
    adapter = python("import sys; print('found'); print('why', file=sys.stderr); sys.exit(3)")
    observation = await ask(adapter)
    assert (observation.body, observation.stderr) == (b"found\n", b"why\n")
    assert observation.exit_code == 3
    found = adapter.interpret(observation)
    assert (found.status, found.error_kind, found.output) == ("failed", "exit_code", "found\n")
    assert found.error == "exit code 3 is not one of 0"


async def test_declared_exit_codes_are_answers() -> None:
    adapter = python("import sys; print('found'); sys.exit(65)", success_codes=[0, 65])
    found = await read(adapter)
    assert (found.status, found.output, found.generation_state) == (
        "succeeded",
        "found\n",
        "complete",
    )


async def test_an_empty_answer_is_an_answer() -> None:
    found = await read(python("pass"))
    assert (found.status, found.output, found.generation_state) == ("succeeded", "", "empty")


async def test_an_end_by_signal_is_named_as_such() -> None:
    adapter = command("sh", "-c", "kill -9 $$")
    observation = await ask(adapter)
    assert observation.exit_code == -signal.SIGKILL
    assert adapter.interpret(observation).error == "ended by signal 9 (SIGKILL)"


async def test_output_that_is_not_utf_8_is_escaped_and_noted() -> None:
    found = await read(python(r"import sys; sys.stdout.buffer.write(b'ok \xff\x00 end')"))
    assert found.output == "ok \\xff\x00 end"
    assert found.note == "not UTF-8 at byte 3; such bytes stand escaped, as \\xNN"


async def test_nothing_runs_before_sending_is_durable(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    adapter = python(f"open({str(marker)!r}, 'w').close()")

    def look() -> None:
        assert not marker.exists()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await ask(adapter, wire=WatchedWire(look))
    assert not marker.exists()


@pytest.mark.parametrize("script", [SLEEPER, STUBBORN])
async def test_a_cancellation_ends_the_whole_group_and_keeps_what_came(
    holders: Holders, script: str
) -> None:
    wire = WatchedWire()
    adapter = command("sh", "-c", script, str(holders.path))
    async with anyio.create_task_group() as group:
        group.start_soon(ask, adapter, "text", wire)
        await wire.came()
        group.cancel_scope.cancel()
    await holders.gone()
    assert bytes(wire.received) == b"ready\n"
    assert wire.observation is not None
    assert wire.observation.response_bytes == 6


async def test_a_timeout_ends_the_whole_group(holders: Holders) -> None:
    adapter = command("sh", "-c", SLEEPER, str(holders.path), timeout_s=0.5)
    with pytest.raises(SendError, match=r"sh did not end within 0\.5 s") as failed:
        await ask(adapter)
    assert failed.value.error_kind == "timeout"
    await holders.gone()


async def test_a_descendant_that_holds_the_pipes_is_not_waited_for(holders: Holders) -> None:
    adapter = command("sh", "-c", 'exec 9<>"$0"; sleep 600 & echo done', str(holders.path))
    found = await read(adapter)
    assert (found.status, found.output) == ("succeeded", "done\n")
    await holders.gone()


async def test_a_descendant_that_left_the_group_is_not_waited_for_either() -> None:
    code = (
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "print(child.pid, flush=True)\n"
    )
    observation = await ask(python(code))
    os.kill(int(observation.body), signal.SIGKILL)  # it is out of the group's reach: ours to end


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_output_past_the_limit_fails_and_ends_the_group(
    holders: Holders, stream: str
) -> None:
    target = {"stdout": "1", "stderr": "2"}[stream]
    script = f'exec 9<>"$0"; while :; do echo 0123456789abcdef >&{target}; done'
    adapter = command("sh", "-c", script, str(holders.path), output_limit_bytes=1000)
    wire = WatchedWire()
    with pytest.raises(ProviderError, match="past the limit of 1000 bytes") as failed:
        await ask(adapter, wire=wire)
    assert failed.value.error_kind == "output_too_large"
    kept = {"stdout": wire.received, "stderr": wire.stderr}[stream]
    assert bytes(kept) == (b"0123456789abcdef\n" * 59)[:1000]
    await holders.gone()


async def test_a_program_that_is_not_there_fails_before_anything_is_sent() -> None:
    wire = WatchedWire()
    with pytest.raises(SendError, match="there is no program 'no-such-program'") as failed:
        await ask(command("no-such-program"), wire=wire)
    assert (failed.value.error_kind, failed.value.wire) == ("launch_failed", "not_sent")
    assert wire.sending_count == 0


async def test_a_program_that_the_system_refuses_to_start_is_a_launch_failure(
    tmp_path: Path,
) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    wire = WatchedWire()
    with pytest.raises(SendError, match="cannot be started, so nothing reached it") as failed:
        await ask(command(str(script)), wire=wire)
    assert (failed.value.error_kind, failed.value.wire) == ("launch_failed", "unknown")
    assert wire.sending_count == 1


def test_a_bare_name_is_looked_for_beside_the_interpreter_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("python", "only-on-path"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert find_program("python") == str(Path(sys.executable).parent / "python")
    assert find_program("only-on-path") == str(tmp_path / "only-on-path")
    assert find_program(str(tmp_path / "only-on-path")) == str(tmp_path / "only-on-path")
    assert find_program(str(tmp_path / "python3")) is None
    assert find_program(str(tmp_path)) is None


def test_a_control_that_a_program_cannot_honour_is_named() -> None:
    call = CallInput("text", {"max_output_tokens": 5}, {"seed": 7, "prompt_variant": "v1"})
    request = command("cat").prepare(call)
    assert request.body == {"argv": ["cat"], "stdin": "text"}
    assert request.requested_controls == {"max_output_tokens": 5, "seed": 7}
    assert request.omitted_unsupported == ("max_output_tokens", "seed")


def test_contradictory_controls_are_refused() -> None:
    call = CallInput("text", {"seed": 8}, {"seed": 7})
    with pytest.raises(PrepareError, match="'seed' is 7 in the variant and 8 in the parameters"):
        command("cat").prepare(call)


def test_text_that_utf_8_cannot_carry_is_refused() -> None:
    with pytest.raises(PrepareError, match=r"\$\.stdin: lone surrogate"):
        command("cat").prepare(CallInput("\udc00"))


@pytest.mark.parametrize(
    ("settings", "place", "reason"),
    [
        ({"argv": []}, ("argv",), "at least 1 item"),
        ({"argv": ["a", "b\x00"]}, ("argv", 1), "pattern"),
        ({"success_codes": []}, ("success_codes",), "at least 1 item"),
        ({"output_limit_bytes": 0}, ("output_limit_bytes",), "greater than or equal to 1"),
        ({"timeout_s": 0}, ("timeout_s",), "greater than 0"),
        ({"shell": True}, (), "unknown key 'shell'; allowed: kind, argv, success_codes"),
    ],
)
def test_settings_that_do_not_fit_are_refused(
    settings: dict[str, Any], place: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        from_settings({"kind": "command", "argv": ["cat"]} | settings)
    (problem,) = refused.value.errors()
    assert problem["loc"] == place
    assert reason in problem["msg"]
