"""What is written beside each event, in the same transaction: histories that are asked for by key."""

from __future__ import annotations

from ..types.events import (
    AnyEvent,
    AssistantMessage,
    CallFinished,
    CallIntended,
    Decided,
    DeliveryFinished,
    Judged,
    ModelCalled,
    RunFinished,
)
from ..types.trace import RunStatus
from .codec import plain
from .database import Statement

_CALL_ASKED = (
    "INSERT INTO tool_calls (run_id, call_id, session_id, owner, tool, effect, digest, status, error, attempts,"
    " duration_ms, asked_seq, result_seq, at) VALUES (?, ?, ?, ?, ?, '', '', 'asked', '', 0, 0, ?, 0, ?)"
    " ON CONFLICT (run_id, call_id) DO UPDATE SET tool = excluded.tool, effect = '', digest = '', status = 'asked',"
    " error = '', attempts = 0, duration_ms = 0, asked_seq = excluded.asked_seq, result_seq = 0, at = excluded.at"
)
"""A model may use an id twice in a run; the row then tells of the newer call, the journal of both."""
_CALL_INTENDED = "UPDATE tool_calls SET effect = ?, digest = ? WHERE run_id = ? AND call_id = ?"
_CALL_FINISHED = (
    "UPDATE tool_calls SET status = ?, error = ?, attempts = ?, duration_ms = ?, result_seq = ?"
    " WHERE run_id = ? AND call_id = ?"
)
_MODEL_CALLED = (
    "INSERT INTO model_calls (run_id, seq, session_id, owner, provider, model, failure, input_tokens,"
    " output_tokens, cached_tokens, latency_ms, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_DECIDED = "INSERT INTO decisions (run_id, seq, session_id, subject, choice, reason, at) VALUES (?, ?, ?, ?, ?, ?, ?)"
_RUN_CLOSED = "UPDATE runs SET status = ?, finished_at = ?, lease_until = 0 WHERE id = ?"
_SESSION_USED = "UPDATE sessions SET updated_at = ? WHERE id = ?"
_DELIVERED = "UPDATE outcomes SET delivered_at = ? WHERE run_id = ?"
_OUTCOME = (
    "INSERT INTO outcomes (run_id, session_id, owner, status, judged_by, reason, at) VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (run_id) DO UPDATE SET status = excluded.status, judged_by = excluded.judged_by,"
    " reason = excluded.reason, at = excluded.at"
)
_JUDGED = "UPDATE outcomes SET status = ?, judged_by = ?, reason = ? WHERE run_id = ?"


def project(statements: list[Statement], key: tuple[str, str, str], seq: int, at: float, event: AnyEvent) -> None:
    """Add the statements that follow from `event`. `key` is (run, session, owner)."""
    run_id, session_id, owner = key
    match event:
        case AssistantMessage():
            for call in event.calls:
                params = (run_id, plain(call.id), session_id, owner, plain(call.name), seq, at)
                statements.append((_CALL_ASKED, params))
        case CallIntended():
            if event.parent:
                params = (run_id, plain(event.call_id), session_id, owner, plain(event.tool), seq, at)
                statements.append((_CALL_ASKED, params))
            statements.append((_CALL_INTENDED, (event.effect.value, plain(event.digest), run_id, plain(event.call_id))))
        case CallFinished():
            status, error, call_id = event.status.value, plain(event.error), plain(event.call_id)
            statements.append(
                (_CALL_FINISHED, (status, error, event.attempts, event.duration_ms, seq, run_id, call_id))
            )
        case ModelCalled():
            statements.append((_MODEL_CALLED, _model_call(key, seq, at, event)))
        case Decided():
            said = (plain(event.subject), plain(event.choice), plain(event.reason))
            statements.append((_DECIDED, (run_id, seq, session_id, *said, at)))
        case RunFinished():
            outcome = event.outcome
            statements.append((_RUN_CLOSED, (event.status.value, at, run_id)))
            statements.append((_SESSION_USED, (at, session_id)))
            judged = (outcome.status.value, outcome.judged_by.value, plain(outcome.reason))
            statements.append((_OUTCOME, (run_id, session_id, owner, *judged, at)))
        case Judged():
            status = RunStatus.DONE if event.success else RunStatus.FAILED
            statements.append((_JUDGED, (status.value, event.by.value, plain(event.reason), run_id)))
        case DeliveryFinished():
            statements.append((_DELIVERED, (at, run_id)))
        case _:
            return


def _model_call(key: tuple[str, str, str], seq: int, at: float, event: ModelCalled) -> tuple[object, ...]:
    run_id, session_id, owner = key
    return (
        run_id,
        seq,
        session_id,
        owner,
        plain(event.provider),
        plain(event.model),
        event.failure.value if event.failure else "",
        event.usage.input,
        event.usage.output,
        event.usage.cached,
        event.latency_ms,
        at,
    )
