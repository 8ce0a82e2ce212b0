"""Turn rules: the meaning of a step request for a session, and the effects of a completed step."""

from typing import Any, cast

from agentgym_envs.formats import FORMATS
from agentgym_server.clock import Clock
from agentgym_server.sessions.session import JsonAction, Running, Session, lease_view
from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import Problem
from agentgym_server.workers.hosts import Outcome


def same_action(one: JsonAction, other: JsonAction) -> bool:
    """Equality of JSON values: `1` and `true` differ, the order of members does not matter."""
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return _canonical(one) == _canonical(other)


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: _canonical(member) for name, member in members.items()}
    if isinstance(value, list):
        return [_canonical(item) for item in cast("list[Any]", value)]
    return (isinstance(value, bool), value)


def action_text(session: Session, action: JsonAction) -> str:
    """The action as text for the environment: a tool call as a JSON object with `name` and `arguments`."""
    if isinstance(action, str):
        return action
    if action["type"] == "tool_call":
        return strict_json.dump({"name": action["name"], "arguments": action["arguments"]}).decode()
    if action["type"] == "completion":
        return FORMATS[session.format].parse(action["text"])
    return action["text"]


def action_bytes(action: JsonAction) -> int:
    """Approximate memory of an action: the characters of its string, or of its JSON."""
    return len(action) if isinstance(action, str) else len(strict_json.dump(action))


def recall(session: Session, turn: int, action: JsonAction) -> bytes | Running | None:
    """The stored reply of a step, its run in progress, or None if it is to be played now.

    Raises the problem of the turn rules if it is none of these.
    """
    if session.state == "expired":
        raise gone(session)
    if session.state == "closed":
        raise gone(session)
    if turn <= session.turn:
        return _stored(session, turn, action)
    if session.state == "failed":
        raise _failed(session, turn, action)
    if turn > session.turn + 1:
        raise conflict(session, turn)
    if session.state == "ended":
        raise Problem("session-ended", f"the episode ended with turn {session.turn}", state="ended")
    running = session.running
    if running is not None and not same_action(running.action, action):
        raise _mismatch(turn)
    return running


def gone(session: Session) -> Problem:
    """The problem of a session that expired or was closed."""
    return Problem(f"session-{session.state}", f"the session is {session.state}", state=session.state)


def conflict(session: Session, turn: int, **members: Any) -> Problem:
    """The problem of a turn that is not the next one."""
    expected = session.turn + 1
    detail = f"expected turn {expected}, got {turn}"
    return Problem("turn-conflict", detail, expected_turn=expected, given_turn=turn, **members)


def _stored(session: Session, turn: int, action: JsonAction) -> bytes:
    if not same_action(session.played[turn - 1], action):
        raise _mismatch(turn)
    reply = session.replies.get(turn) if turn > session.inherited else None
    if reply is None:
        raise conflict(session, turn, reason="reply-evicted")
    return reply


def _mismatch(turn: int) -> Problem:
    return Problem("action-mismatch", f"turn {turn} has another action", turn=turn)


def _failed(session: Session, turn: int, action: JsonAction) -> Problem:
    step = session.failed_step
    if step is not None and step.turn == turn and same_action(step.action, action):
        return step.problem
    return Problem("session-failed", "the episode failed", state="failed", failure=session.failure)


def complete(session: Session, action: JsonAction, played: Outcome, clock: Clock, max_bytes: int) -> bytes:
    """Commit a played turn and return its reply; the lease must have been renewed before.

    The turn with which the session's actions exceed `max_bytes` is its last.

    Raises `TypeError` or `ValueError`, and changes nothing, if the environment's info is not JSON.
    """
    turn = session.turn + 1
    terminated, truncated = bool(played.terminated), bool(played.truncated)
    info = visible_info(played)
    if played.tools != session.tools:
        info["tools"] = played.tools
    if truncated:
        info.setdefault("truncation_reason", "environment")
    elif turn >= session.max_turns and not terminated:
        truncated, info["truncation_reason"] = True, "max_turns"
    held = session.action_bytes + action_bytes(action)
    if held > max_bytes and not (terminated or truncated):
        truncated, info["truncation_reason"] = True, "session-bytes"
    reward = float(played.reward)
    total = session.total_reward + reward
    reply = strict_json.dump(
        {
            "session_id": session.id,
            "turn": turn,
            "observation": played.text,
            "reward": reward,
            "total_reward": total,
            "terminated": terminated,
            "truncated": truncated,
            "state": "ended" if terminated or truncated else "open",
            "info": info,
            **({"costs": played.costs} if played.costs else {}),
            "lease": lease_view(session, clock),
        }
    )
    session.turn, session.observation, session.info, session.tools = turn, played.text, info, played.tools
    session.reward, session.total_reward = reward, total
    session.terminated, session.truncated = terminated, truncated
    session.played.append(action)
    session.action_bytes = held
    session.rewards.append(reward)
    session.replies.append(reply)
    session.steps_executed += 1
    return reply


def visible_info(played: Outcome) -> dict[str, Any]:
    """The info of a reply: the environment's own, and its admissible actions if it lists them."""
    info = dict(played.info)
    if played.actions is not None:
        info["available_actions"] = played.actions
    return info
