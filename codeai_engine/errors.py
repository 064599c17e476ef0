"""Every error of the engine, as one tree.

    CodeAIError
    ├── SpecError                     what a user wrote cannot be run
    ├── ContextError                  compiling refused
    │   ├── RequiredContextMissing    a required candidate is sealed off, missing or over budget
    │   └── ContextSealViolation      a package offered for use names a forbidden id
    ├── RenderError                   an item of a package cannot be resolved to bytes
    ├── RenderBindingError            a prepared body does not carry exactly the composed input
    ├── AdapterError                  a provider, or the way to it
    │   ├── PrepareError
    │   ├── SendError
    │   └── ProviderError
    ├── VerifierError                 a check could not be carried out
    ├── LedgerError                   the file
    │   ├── NotALedger, UnsupportedVersion, LedgerBusy, LedgerUnwritable
    │   ├── PayloadRefused            a value that is not I-JSON
    │   ├── AppendConflict            something that must be absent is there
    │   └── ArtifactTooLarge
    └── IntegrityError                a recomputed value differs and work must stop

An error carries a stable `code`, fields instead of text to be parsed, a `hint` where the reader
can act, and the exit code of the commands.
"""

from __future__ import annotations

from typing import ClassVar


class CodeAIError(Exception):
    """The root of the tree.

    Args:
        message: One sentence that names the input, the place in it and what is wrong.
        hint: What the reader can do about it, or an empty string.
    """

    code: ClassVar[str] = "ERROR"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class SpecError(CodeAIError):
    """A specification, an option or a folder that a user named cannot be used.

    Args:
        path: The file (or option) at fault.
        key: The place in it, such as `branch[1].adapter`; empty when it is the whole.
        reason: What is wrong and what is allowed.
    """

    code = "SPEC"
    exit_code = 2

    def __init__(self, path: str, key: str, reason: str, *, hint: str = "") -> None:
        place = f"{path}: {key}" if key else path
        super().__init__(f"{place}: {reason}", hint=hint)
        self.path = path
        self.key = key
        self.reason = reason


class ContextError(CodeAIError):
    """A compilation was refused."""

    code = "CONTEXT"


class RequiredContextMissing(ContextError):
    """A required candidate is blocked by the seal, was not offered, or does not fit.

    The message keeps the peer's prefixes `REQUIRED_CONTEXT_MISSING: ` and
    `CONTEXT_BUDGET_UNSATISFIABLE: ` (PEER_FORMAT section 3).

    Args:
        message: The peer's sentence.
        candidate_id: The candidate, or None when the budget as a whole is at fault.
        forbidden_set: Which of the four sets blocked it (`event`, `artifact`, `call`, `lineage`).
        blocking_id: The forbidden id that was met.
    """

    code = "REQUIRED_CONTEXT_MISSING"

    def __init__(
        self,
        message: str,
        *,
        candidate_id: str | None = None,
        forbidden_set: str | None = None,
        blocking_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.candidate_id = candidate_id
        self.forbidden_set = forbidden_set
        self.blocking_id = blocking_id


class ContextSealViolation(ContextError):
    """A package that was offered for use names an id that its seal forbids."""

    code = "CONTEXT_SEAL_VIOLATION"

    def __init__(self, message: str, *, candidate_id: str, forbidden_set: str) -> None:
        super().__init__(message)
        self.candidate_id = candidate_id
        self.forbidden_set = forbidden_set


class RenderError(CodeAIError):
    """Items of a package cannot be resolved to bytes; nothing is rendered.

    Args:
        unresolved: `(kind, id, reason)` of every such item, in rendering order.
    """

    code = "RENDER"

    def __init__(self, unresolved: tuple[tuple[str, str, str], ...]) -> None:
        what = "; ".join(f"{kind} {item_id}: {reason}" for kind, item_id, reason in unresolved)
        super().__init__(f"context rendering failed: {what}")
        self.unresolved = unresolved


class RenderBindingError(CodeAIError):
    """A prepared body does not carry exactly the composed model input.

    Args:
        expected_sha256: Digest of the composed input.
        found_sha256: Digest of what the body carries, or None when it carries no text there.
        first_difference: Offset in UTF-8 bytes of the first difference.
    """

    code = "RENDER_BINDING"

    def __init__(
        self, expected_sha256: str, found_sha256: str | None, first_difference: int
    ) -> None:
        super().__init__(
            "prepared request does not carry the rendered model input: "
            f"expected sha256 {expected_sha256}, found {found_sha256 or 'no text'}, "
            f"first difference at byte {first_difference}"
        )
        self.expected_sha256 = expected_sha256
        self.found_sha256 = found_sha256
        self.first_difference = first_difference


class AdapterError(CodeAIError):
    """A provider, or the way to it, failed.

    Args:
        message: One sentence without secrets.
        error_kind: Stable word for the cause: `timeout`, `connect`, `rate_limited`, …
        wire: What is known of the request's bytes: `not_sent`, `sent` or `unknown`.
        http_status: The status where there was a response.
        retry_after_s: What the provider asked to wait, in seconds.
    """

    code = "ADAPTER"

    def __init__(
        self,
        message: str,
        *,
        error_kind: str | None = None,
        wire: str | None = None,
        http_status: int | None = None,
        retry_after_s: float | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.error_kind = error_kind
        self.wire = wire
        self.http_status = http_status
        self.retry_after_s = retry_after_s


class PrepareError(AdapterError):
    """An adapter cannot turn a model input into a request body; nothing was sent."""

    code = "PREPARE"


class SendError(AdapterError):
    """The transport failed; `wire` says how far the bytes got."""

    code = "SEND"


class ProviderError(AdapterError):
    """The provider answered, and the answer is a refusal or cannot be read."""

    code = "PROVIDER"


class VerifierError(CodeAIError):
    """A check could not be carried out: launch, timeout or a malformed verifier."""

    code = "VERIFIER"
    exit_code = 3


class LedgerError(CodeAIError):
    """Something is wrong with a ledger file, or with what it was asked to take.

    Args:
        message: One sentence.
        path: The file.
    """

    code = "LEDGER"
    exit_code = 2

    def __init__(self, message: str, *, path: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.path = path


class NotALedger(LedgerError):
    """The file is neither ours nor of the peer's table shape."""

    code = "NOT_A_LEDGER"


class UnsupportedVersion(LedgerError):
    """The ledger names a format newer than this engine reads."""

    code = "UNSUPPORTED_VERSION"

    def __init__(self, message: str, *, path: str, found: int, supported: int) -> None:
        super().__init__(message, path=path)
        self.found = found
        self.supported = supported


class LedgerBusy(LedgerError):
    """Another process held the ledger for longer than the busy timeout."""

    code = "LEDGER_BUSY"


class LedgerUnwritable(LedgerError):
    """The ledger or its folder cannot be written, or the ledger is not one of ours."""

    code = "LEDGER_UNWRITABLE"


class PayloadRefused(LedgerError):
    """A payload holds a value that I-JSON (RFC 7493) does not allow.

    Args:
        json_path: Where in the payload, such as `$.usage.input_tokens`.
        reason: Why it is refused.
    """

    code = "PAYLOAD_REFUSED"

    def __init__(self, json_path: str, reason: str) -> None:
        super().__init__(f"payload refused at {json_path}: {reason}")
        self.json_path = json_path
        self.reason = reason


class AppendConflict(LedgerError):
    """An append was refused because of what the ledger already holds."""

    code = "APPEND_CONFLICT"


class ArtifactTooLarge(LedgerError):
    """An artifact is past the limit of 64 MiB."""

    code = "ARTIFACT_TOO_LARGE"

    def __init__(self, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(f"artifact of {size_bytes} bytes is past the limit of {limit_bytes} bytes")
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class IntegrityError(CodeAIError):
    """A recomputed value differs from the recorded one, and work must stop.

    Args:
        finding: Stable name of the mismatch.
        sequence: The event it stands at, or None.
        expected: The recorded value.
        found: The recomputed value.
    """

    code = "INTEGRITY"
    exit_code = 4

    def __init__(self, finding: str, sequence: int | None, expected: str, found: str) -> None:
        super().__init__(f"{finding} at {sequence}: expected {expected}, found {found}")
        self.finding = finding
        self.sequence = sequence
        self.expected = expected
        self.found = found
