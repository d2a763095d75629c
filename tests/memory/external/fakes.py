"""What the real services answer, as far as memories go. Each was proven with the official client of the service where
there is one (test_official_clients.py); fields that a service does not know are refused, as strict servers do."""

import re
from collections.abc import Set
from typing import Any
from urllib.parse import unquote

from tests.memory.external.server import KEY, Asked, Kept, Refused

NOW = "2026-01-02T03:04:05Z"


def mem0(asked: Asked, kept: Kept) -> Any:
    _wants(asked.headers.get("authorization") == f"Token {KEY}")
    match asked.method, asked.path:
        case "GET", "/v1/ping/":
            return {"status": "ok", "org_id": "org", "project_id": "project", "user_email": "me@example.org"}
        case "POST", "/v3/memories/add/":
            body = _fields(asked.body, {"messages", "user_id"}, {"metadata", "agent_id", "run_id"})
            for message in body["messages"]:
                kept.add(body["user_id"], _fields(message, {"role", "content"})["content"])
            return {"message": "queued", "status": "PENDING", "event_id": "event-1"}
        case "POST", "/v3/memories/search/":
            body = _fields(asked.body, {"query", "filters"}, {"top_k", "threshold", "rerank"})
            found = kept.search(body["filters"]["user_id"], body["query"], body.get("top_k", 10))
            return {
                "results": [
                    {"id": f"m-{place}", "memory": text, "score": score, "metadata": None, "created_at": NOW}
                    for place, (text, score) in enumerate(found)
                ]
            }
    raise Refused(404, f"no {asked.method} {asked.path}")


def supermemory(asked: Asked, kept: Kept) -> Any:
    _wants(asked.headers.get("authorization") == f"Bearer {KEY}")
    if (asked.method, asked.path) == ("GET", "/organization"):
        return {"namespaceCount": 1}
    namespace, verb = _parts(r"/ns/([^/]+)/(document|search)", asked)
    if verb == "document":
        known = {"id", "metadata", "group", "date", "taskType", "dreaming", "supportingContext"}
        kept.add(namespace, _fields(asked.body, {"content"}, known)["content"])
        return {"id": "doc-1", "status": "queued"}
    body = _fields(asked.body, {"query"}, {"searchMode", "limit", "filter", "include", "threshold", "rerank"})
    _wants(body.get("searchMode", "hybrid") in ("hybrid", "memories", "chunks"), 400)
    return {
        "results": [
            {
                "id": f"m-{place}",
                "memory": text,
                "metadata": {},
                "similarity": score,
                "isLatest": True,
                "isInference": False,
                "system": {"updatedAt": NOW},
            }
            for place, (text, score) in enumerate(kept.search(namespace, body["query"], body.get("limit", 10)))
        ],
        "searchTime": 1.5,
    }


def hindsight(asked: Asked, kept: Kept) -> Any:
    if (asked.method, asked.path) == ("GET", "/health"):
        return {"status": "healthy"}
    _wants(asked.headers.get("authorization") == f"Bearer {KEY}")
    bank, verb = _parts(r"/v1/default/banks/([^/]+)/memories(/recall)?", asked)
    if not verb:
        body = _fields(asked.body, {"items"}, {"async", "document_tags", "operation_id"})
        for item in body["items"]:
            known = {"context", "metadata", "document_id", "timestamp", "tags", "resolve_entities", "entities"}
            kept.add(
                bank, _fields(item, {"content"}, known | {"observation_scopes", "strategy", "update_mode"})["content"]
            )
        return {"success": True, "bank_id": bank, "items_count": len(body["items"]), "async": bool(body.get("async"))}
    known = {"types", "budget", "max_tokens", "trace", "include", "tags", "tags_match", "query_timestamp"}
    body = _fields(
        asked.body, {"query"}, known | {"prefer_observations", "tag_groups", "min_scores", "temporal_window"}
    )
    _wants(body.get("budget", "mid") in ("low", "mid", "high"), 422)
    return {
        "results": [
            {"id": f"f-{place}", "text": text, "type": "world", "scores": {"final": score}}
            for place, (text, score) in enumerate(kept.search(bank, body["query"], 50))
        ]
    }


def honcho(asked: Asked, kept: Kept) -> Any:
    """Conclusions are drawn at once here: every message of a peer is one about that peer."""
    _wants(asked.headers.get("authorization") == f"Bearer {KEY}")
    _wants(asked.method == "POST", 405)
    if asked.path == "/v3/workspaces/list":
        return {"items": [], "total": 0, "page": 1, "size": 50, "pages": 0}
    if asked.path == "/v3/workspaces":
        return {**_fields(asked.body, {"id"}, {"metadata", "configuration"}), "created_at": NOW}
    workspace, verb, session = _parts(
        r"/v3/workspaces/([^/]+)/(peers|conclusions/query|sessions)(?:/([^/]+)/messages)?", asked
    )
    if verb == "peers":
        return {**_fields(asked.body, {"id"}), "workspace_id": workspace, "created_at": NOW}
    if verb == "conclusions/query":
        body = _fields(asked.body, {"query", "top_k", "filters"}, {"distance"})
        about = _fields(body["filters"], {"observer_id", "observed_id"})
        found = kept.search(f"{workspace}/{about['observed_id']}", body["query"], body["top_k"])
        return [
            {"id": f"c-{place}", "content": text, "created_at": NOW, **about} for place, (text, _) in enumerate(found)
        ]
    if not session:
        made = _fields(asked.body, {"id"}, {"peers", "metadata", "configuration"})
        _wants(re.fullmatch(r"[A-Za-z0-9_-]{1,512}", made["id"]) is not None, 422)
        return {"id": made["id"], "is_active": True, "workspace_id": workspace, "created_at": NOW}
    answers = []
    messages = _fields(asked.body, {"messages"})["messages"]
    _wants(0 < len(messages) <= 100, 422)
    for place, message in enumerate(messages):
        body = _fields(message, {"content", "peer_id"}, {"metadata", "created_at", "configuration"})
        kept.add(f"{workspace}/{body['peer_id']}", body["content"])
        fixed = {"id": f"m-{place}", "session_id": session, "workspace_id": workspace, "token_count": 1}
        answers.append({**body, **fixed, "created_at": NOW})
    return answers


def openviking(asked: Asked, kept: Kept) -> Any:
    if (asked.method, asked.path) == ("GET", "/health"):
        return {"status": "ok", "healthy": True}
    _wants(asked.headers.get("x-api-key") == KEY)
    user = asked.headers.get("x-openviking-user", "default")
    if (asked.method, asked.path) == ("POST", "/api/v1/search/find"):
        body = _fields(asked.body, set(), {"query", "target_uri", "limit", "context_type", "score_threshold", "filter"})
        return _viking(
            {
                "memories": [
                    {
                        "context_type": "memory",
                        "uri": f"viking://user/memories/events/{place}.md",
                        "level": 2,
                        "score": score,
                        "abstract": text,
                        "tags": [],
                    }
                    for place, (text, score) in enumerate(kept.search(user, body["query"], body["limit"]))
                ],
                "resources": [],
                "skills": [],
                "total": 0,
            }
        )
    session, verb = _parts(r"/api/v1/sessions/([^/]+)/(messages/batch|commit)", asked)
    if verb == "commit":
        _fields(asked.body, set(), {"keep_recent_count"})
        for text in kept.texts.pop(f"open {session}", []):
            kept.add(user, text)
        return _viking({"session_id": session, "status": "accepted", "task_id": "t-1", "archived": True})
    messages = _fields(asked.body, {"messages"})["messages"]
    for message in messages:
        kept.add(f"open {session}", _fields(message, {"role", "content"})["content"])
    return _viking({"session_id": session, "added": len(messages)})


def retaindb(asked: Asked, kept: Kept) -> Any:
    """As described in public; no official client proves it."""
    _wants(asked.headers.get("authorization") == f"Bearer {KEY}")
    match asked.method, asked.path:
        case "POST", "/v1/memory":
            body = _fields(asked.body, {"project", "content", "memory_type"})
            kept.add(body["project"], body["content"])
            return {"memory_id": "m-1"}
        case "POST", "/v1/memory/search":
            body = _fields(asked.body, {"project", "query", "top_k"}, {"include_pending", "scopes"})
            found = kept.search(body["project"], body["query"], body["top_k"])
            return {
                "count": len(found),
                "results": [
                    {"memory": {"id": f"m-{place}", "content": text, "type": "event"}, "similarity": score}
                    for place, (text, score) in enumerate(found)
                ],
            }
    raise Refused(404, f"no {asked.method} {asked.path}")


def byterover(asked: Asked, kept: Kept) -> Any:
    """As described in public; no official client proves it."""
    _wants(asked.headers.get("x-api-key") == KEY)
    match asked.method, asked.path:
        case "POST", "/memories":
            body = _fields(asked.body, {"messages", "userId"}, {"provider", "model"})
            for message in body["messages"]:
                kept.add("all", _fields(message, {"role", "content"})["content"])
            return {}
        case "POST", "/memories/search":
            body = _fields(asked.body, {"query"}, {"limit"})
            found = kept.search("all", body["query"], body.get("limit", 5))
            return {"results": [{"memory": text, "score": score} for text, score in found]}
    raise Refused(404, f"no {asked.method} {asked.path}")


def plain(asked: Asked, kept: Kept) -> Any:
    """A service that nobody knows, for the templates."""
    _wants(asked.headers.get("x-secret") == KEY)
    where, verb = _parts(r"/spaces/([^/?]+)/(look|note)(?:\?.*)?", asked)
    if verb == "note":
        kept.add(where, _fields(asked.body, {"words", "session"})["words"])
        return None
    found = kept.search(where, asked.body["find"]["text"], asked.body["find"]["top"])
    return {"data": {"hits": [{"doc": {"body": text}, "rank": score} for text, score in found]}}


def _viking(result: Any) -> Any:
    return {"status": "ok", "result": result}


def _wants(holds: bool, status: int = 401) -> None:
    if not holds:
        raise Refused(status, "the request is not as it should be")


def _fields(body: Any, needed: Set[str], known: Set[str] = frozenset()) -> Any:
    if not isinstance(body, dict) or needed - set(body) or set(body) - needed - known:
        raise Refused(422, f"fields are {sorted(body) if isinstance(body, dict) else body!r}")
    return body


def _parts(pattern: str, asked: Asked) -> list[str]:
    found = re.fullmatch(pattern, asked.path)
    if found is None:
        raise Refused(404, f"no {asked.method} {asked.path}")
    return [unquote(part or "") for part in found.groups()]
