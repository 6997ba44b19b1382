"""Secrets and bulk out of what goes to the log, before it goes there.

Every rule replaces what it finds by a mark that names the rule, so that "nothing there" differs from "hidden".
Paths stay: without them no read could be matched to a search.
"""

from __future__ import annotations

import json
import re
from typing import Any

MAX_STRING_CHARS = 2_000
"""Longest string of an input that is kept whole; file contents are longer, paths and queries are not."""

MAX_COMMAND_CHARS = 8_000
"""Longest shell command that is kept whole: a here-document may stand before the part that matters."""

MAX_INPUT_BYTES = 16 * 1024
"""Largest input as JSON."""

MAX_DEPTH = 20

RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("private-key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S)),
    ("jwt", re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+")),
    ("aws-key", re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    ("github-token", re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})")),
    ("gitlab-token", re.compile(r"\bglpat-[A-Za-z0-9_-]{20,}")),
    ("slack-token", re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}")),
    ("api-key", re.compile(r"\b(?:sk|pk|rk)[-_](?:[A-Za-z]{2,8}[-_])*[A-Za-z0-9_-]{20,}")),
    ("google-key", re.compile(r"\bAIza[A-Za-z0-9_-]{30,}")),
    ("bearer", re.compile(r"(?<=\bBearer )[A-Za-z0-9._~+/=-]{12,}", re.I)),
    ("basic-auth", re.compile(r"(?<=\bBasic )[A-Za-z0-9+/=]{16,}", re.I)),
    ("url-password", re.compile(r"(?<=://)[^/\s:@]{1,100}:[^/\s@]{1,200}(?=@)")),
    (
        "secret",
        re.compile(
            r"(?P<keep>\b[A-Z0-9_]*(?:SECRET|TOKEN|PASSWORD|PASSWD|API_?KEY|PRIVATE_KEY|CREDENTIALS?)[A-Z0-9_]*[\"']?\s*[=:]\s*)"
            r"(?!\s|[\"']?\$|\$)[\"']?[^\s\"'&;|]{6,}[\"']?",
            re.I,
        ),
    ),
    ("email", re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63}){1,4}")),
)
"""Name -> pattern, applied in order. A group `keep` stays in front of the mark."""

_SECRET_NAME = re.compile(
    r"(?:^|[_-])(?:secret|token|password|passwd|passphrase|api_?key|access_?key|private_?key|credentials?|authorization)$",
    re.I,
)
"""Arguments whose value is a secret whatever it looks like."""

_SIGNS = (
    *("key", "eyj", "akia", "asia", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "aiza"),
    *("sk-", "pk-", "rk-", "sk_", "pk_", "rk_", "bearer", "basic", "@", "secret", "token", "pass", "credential"),
)
"""Cheap first look, in lower case: a text without any of these holds nothing for the rules."""

_BULK_CHARS = 1_000
_BULK = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{1000,}={0,2}")
"""A picture, a key file, anything that is no text: so many base64 characters on end are no path."""


def redact_text(text: str) -> str:
    """Return the text with every secret replaced by `<redacted:rule>`. Idempotent."""
    lower = text.lower()
    if any(sign in lower for sign in _SIGNS):
        for name, pattern in RULES:
            text = pattern.sub(_mark(name, keeps="keep" in pattern.groupindex), text)
    return text if len(text) < _BULK_CHARS else _BULK.sub("<redacted:base64>", text)


def _mark(name: str, *, keeps: bool) -> str:
    return rf"\g<keep><redacted:{name}>" if keeps else f"<redacted:{name}>"


def cut(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text and, where it was longer, a mark with the number cut away."""
    return text if len(text) <= limit else f"{text[:limit]}…[{len(text) - limit} more characters]"


def clean(text: str) -> str:
    """Return the text without lone surrogates, which no UTF-8 can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return text


def redact_bytes(raw: bytes) -> bytes:
    """Return bytes that are no event, without the secrets that can be found in them; other bytes stay as they are."""
    return redact_text(raw.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def redact_input(value: dict[str, Any]) -> dict[str, Any]:
    """Return a call's input without secrets, long strings cut, at most 16 KiB as JSON.

    An input that is still too large after that keeps its short strings and numbers and says what was left out.
    """
    small = {clean(str(key)): _redact(item, str(key), MAX_DEPTH) for key, item in value.items()}
    if _json_size(small) <= MAX_INPUT_BYTES:
        return small
    kept: dict[str, Any] = {}
    left_out: list[str] = []
    for key in sorted(small, key=lambda name: _json_size(small[name])):
        if _json_size(kept) + _json_size({key: small[key]}) > MAX_INPUT_BYTES - 1024:
            left_out.append(key)
        else:
            kept[key] = small[key]
    return {key: kept[key] for key in small if key in kept} | {"_left_out": sorted(left_out)[:20]}


def _redact(value: Any, key: str, depth: int) -> Any:
    if isinstance(value, str):
        if value and _SECRET_NAME.search(key):
            return "<redacted:secret>"
        limit = MAX_COMMAND_CHARS if key in ("command", "cmd") else MAX_STRING_CHARS
        return redact_text(cut(clean(value), limit))
    if depth == 0:
        return "…[nested too deep]"
    if isinstance(value, dict):
        return {clean(str(name)): _redact(item, str(name), depth - 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_redact(item, key, depth - 1) for item in value[:200]]
    return value


def _json_size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace"))
