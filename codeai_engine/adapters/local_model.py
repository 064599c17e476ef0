"""A small language model that runs here, offline, behind the ordinary chat adapter.

llama.cpp's own server answers on a free loopback port, so requests are real bytes on a real socket
(LOCAL_MODEL). It is started by the first send. There is one a process and model file, shared by
every branch and adapter that asks for it, and it stops when the last of them is closed.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from anyio import to_thread
from pydantic import field_validator

from codeai_engine.adapters import chat
from codeai_engine.adapters.model_file import (
    RUNTIME,
    fetch_model,
    is_right,
    model_path,
    refuse_without_runtime,
)
from codeai_engine.adapters.settings import AdapterSettings, RetrySettings, Seconds
from codeai_engine.errors import AdapterError, SendError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codeai_engine.adapters.base import (
        CallInput,
        Interpretation,
        Observation,
        PreparedRequest,
        Wire,
    )

__all__ = ["LocalModelAdapter", "Settings", "fetch_model", "from_settings", "model_path"]

ENDPOINT = f"/v1{chat.ENDPOINT}"
CONTEXT_TOKENS, SLOTS = 8192, 4  # each slot gets its share: 2048 tokens a call
MOST_THREADS = 4


class Settings(AdapterSettings):
    """`kind = "local_model"`.

    Args:
        path: A GGUF model file, absolute or from `~`; absent, the model that `fetch_model` keeps.
        retry: How many attempts a call may have.
        timeout_s: Deadline of one attempt, on top of the fan-out's.
    """

    kind: Literal["local_model"]
    path: str | None = None
    retry: RetrySettings = RetrySettings()
    timeout_s: Seconds | None = None

    @field_validator("path")
    @classmethod
    def _one_file(cls, value: str | None) -> str | None:
        if value is not None and not Path(value).expanduser().is_absolute():
            raise ValueError("must be absolute, or begin with ~")
        return value


def from_settings(settings: Mapping[str, Any]) -> LocalModelAdapter:
    """Return the adapter that a table of a spec describes; nothing is started or looked for yet.

    Raises:
        pydantic.ValidationError: The table does not fit.
    """
    table = Settings.model_validate(dict(settings))
    path = Path(table.path).expanduser() if table.path else None
    return LocalModelAdapter(path, timeout_s=table.timeout_s)


class LocalModelAdapter:
    """Sends chat completions to a server that it starts.

    Args:
        path: A model file; None takes the one in the user's cache, whose digest is checked.
        timeout_s: Deadline of one attempt, in seconds.
    """

    provider = "local"
    protocol = chat.PROTOCOL

    def __init__(self, path: Path | None = None, *, timeout_s: float | None = None) -> None:
        self._path = path or model_path()
        self._timeout_s = timeout_s
        self._address: str | None = None
        self.requested_model: str | None = self._path.stem

    def prepare(self, call: CallInput) -> PreparedRequest:
        """Return a body with one user message, which carries the whole input.

        Raises:
            PrepareError: The input or a control cannot be sent.
        """
        return chat.prepare(call, model=self._path.stem, endpoint=ENDPOINT)

    async def send(self, request: PreparedRequest, wire: Wire) -> Observation:
        """Send the body to the model's server, starting it first where it does not run.

        Raises:
            SendError: The model or its runtime is missing, or the transport failed.
        """
        from codeai_engine.adapters.exchange import Target, post

        address = self._address
        if address is None:
            address = await to_thread.run_sync(self._server_address)
        target = Target(address, ENDPOINT, timeout_s=self._timeout_s)
        return await post(target, request.body_text().encode("ascii"), wire)

    def interpret(self, observation: Observation) -> Interpretation:
        """Read a chat completion."""
        return chat.interpret(observation)

    async def aclose(self) -> None:
        """Let go of the server; the last adapter that does stops it."""
        await to_thread.run_sync(self._leave)

    def _server_address(self) -> str:
        with _SERVERS_LOCK:
            if self._address is None:
                self._address = _SERVERS.join(self._path)
            return self._address

    def _leave(self) -> None:
        with _SERVERS_LOCK:
            if self._address is not None:
                self._address = None
                _SERVERS.leave(self._path)


class _Servers:
    """The servers of this process, each with how many adapters use it."""

    def __init__(self) -> None:
        self._running: dict[Path, tuple[Any, int]] = {}

    def join(self, path: Path) -> str:
        """Return the address of the server of a model file, starting it where there is none."""
        server, users = self._running.get(path) or (_start(path), 0)
        self._running[path] = (server, users + 1)
        return str(server.listening_address)

    def leave(self, path: Path) -> None:
        """Take one user away; without any the server ends, since its last reference goes."""
        server, users = self._running.pop(path)
        if users > 1:
            self._running[path] = (server, users - 1)


_SERVERS = _Servers()
_SERVERS_LOCK = Lock()


def _start(path: Path) -> Any:  # noqa: ANN401 - a native object without types
    """Start the server of a model file; it is ready when this returns, after about a second.

    Raises:
        SendError: The runtime or the file is missing, or they do not fit.
    """
    try:
        refuse_without_runtime()
    except AdapterError as error:
        raise SendError(
            error.message, error_kind=error.error_kind, wire="not_sent", hint=error.hint
        ) from error
    # A message is recorded, and a path of this machine has no place in a record.
    if not path.is_file():
        raise _missing(f"the local model {path.name} is not there")
    if path == model_path() and not is_right(path):
        raise _missing(f"the local model {path.name} is not the file that it should be")
    xllamacpp = import_module(RUNTIME)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx, parameters.n_parallel = CONTEXT_TOKENS, SLOTS
    for part in (parameters.cpuparams, parameters.cpuparams_batch):
        part.n_threads = _threads()
    # Else an answer names the model by its path here. A set of names, or one, by the build.
    is_set = isinstance(parameters.model_alias, set)
    parameters.model_alias = {path.stem} if is_set else path.stem
    parameters.verbosity = -1  # else it writes on file descriptor 2, past sys.stderr
    try:
        return xllamacpp.Server(parameters)
    except RuntimeError as error:
        raise _missing(f"the local model {path.name} cannot be loaded: {error}") from error


def _threads() -> int:
    """Return how many threads compute: one core stays free.

    They wait for each other by spinning, so that a core which is busy with something else holds
    all of them up. One short review on two busy cores took 73 s with the default of one thread a
    core, and 9 s with one thread.
    """
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return max(1, min(MOST_THREADS, cores - 1))


def _missing(text: str) -> SendError:
    return SendError(
        text,
        error_kind="model_missing",
        wire="not_sent",
        hint="`codeai-tui demo` fetches the model.",
    )
