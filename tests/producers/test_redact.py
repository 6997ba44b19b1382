"""Secrets and bulk out of what goes to the log."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers.redact import MAX_INPUT_BYTES, clean, cut, redact_bytes, redact_input, redact_text

SECRETS = {
    "github": "ghp_" + "a1B2" * 9,
    "aws": "AKIA" + "ABCDEFGH12345678",
    "openai": "sk-" + "proj-" + "x9" * 20,
    "slack": "xoxb-" + "1234567890-abcdef",
    "google": "AIza" + "x" * 35,
    "gitlab": "glpat-" + "y" * 20,
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS.keys())
def test_a_well_known_token_never_stays(secret: str) -> None:
    assert secret not in redact_text(f"curl -H 'X: {secret}' https://example.org")


@pytest.mark.parametrize(
    "text",
    [
        "export DB_PASSWORD=correct-horse",
        '{"api_key": "correct-horse"}',
        "Authorization: Bearer correct-horse-battery",
        "git clone https://me:correct-horse@example.org/x",
        "-----BEGIN RSA PRIVATE KEY-----\ncorrect-horse\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\ncorrect-horse, and the end was cut",
        "mail correct-horse@example.org",
    ],
)
def test_what_is_said_to_be_secret_never_stays(text: str) -> None:
    assert "correct-horse" not in redact_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "rg -n 'def boil' src/kettle.py",
        "/home/dev/app/tokens/token_store.py",
        "docs/decisions/ADR-007-passwordless-login.md",
        "grep -rn password src/",
        "echo $GITHUB_TOKEN",
        'curl -H "Authorization: $TOKEN" x',
        "https://example.org/a/b?c=d",
        "密码学 lessons",
        "ls task-runner/risk-model.md",
    ],
)
def test_paths_and_searches_stay_as_they_are(text: str) -> None:
    assert redact_text(text) == text


def test_an_argument_that_is_called_a_secret_is_one() -> None:
    assert redact_input({"token": "abc", "max_tokens": 5, "nested": {"client-secret": "x"}}) == {
        "token": "<redacted:secret>",
        "max_tokens": 5,
        "nested": {"client-secret": "<redacted:secret>"},
    }


def test_a_picture_in_the_text_becomes_a_mark() -> None:
    assert redact_text("data:image/png;base64," + "iVBORw0KGgo" * 200) == "data:image/png;base64,<redacted:base64>"


def test_a_long_text_says_how_much_of_it_was_cut() -> None:
    assert cut("abcdef", 4) == "abcd…[2 more characters]"


def test_half_a_surrogate_pair_becomes_a_mark_that_utf_8_can_hold() -> None:
    assert clean("cut \ud83d here").encode().decode() == "cut ??? here".replace("???", "\ufffd\ufffd\ufffd")


def test_bytes_that_are_no_text_stay_but_for_their_secrets() -> None:
    assert redact_bytes(b"\xff\xfe password=hunter22 \x80") == b"\xff\xfe password=<redacted:secret> \x80"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3000),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
)


@given(st.dictionaries(st.text(max_size=20), VALUES, max_size=12))
def test_an_input_of_any_shape_becomes_small_json(value: dict[str, Any]) -> None:
    small = redact_input(value)

    assert len(json.dumps(small, ensure_ascii=False).encode()) <= MAX_INPUT_BYTES


@given(st.text())
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    assert redact_text(redact_text(text)) == redact_text(text)


def test_an_input_that_is_too_large_keeps_what_is_small_and_names_the_rest() -> None:
    value = {"file_path": "/a.md"} | {f"part{n}": "word " * 400 for n in range(12)}

    small = redact_input(value)

    assert small["file_path"] == "/a.md"
    assert small["_left_out"]
