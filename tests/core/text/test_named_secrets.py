"""What the name before it says is a secret, in a setting."""

from __future__ import annotations

import pytest

from prloom.core.text import named_secrets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("--token=tok_1234567890abcdef", "--token=[secret]"),
        ("--api-key=supersecretvalue123", "--api-key=[secret]"),
        ("PASSWORD=qwertyuiop123", "PASSWORD=[secret]"),
        ("api_key=AKIA1234567890AB", "api_key=[secret]"),
        ("X-Api-Key: abcdef1234567890", "X-Api-Key: [secret]"),
        ("Authorization: Bearer abcdef1234567890", "Authorization: Bearer [secret]"),
        ("https://example.org/hook?token=abcdef123&page=2", "https://example.org/hook?token=[secret]&page=2"),
        (
            "curl -H 'X-Auth-Token: abcdef1234567890' https://example.org",
            "curl -H 'X-Auth-Token: [secret]' https://example.org",
        ),
        ('{"password": "qwertyuiop123", "user": "ann"}', '{"password": "[secret]", "user": "ann"}'),
        ("run --token tok_1234567890abcdef --fast", "run --token [secret] --fast"),
        ("run --password hunter --fast", "run --password [secret] --fast"),
        ("PASSWORD=qwertyuiop123 --token=tok_1234567890abcdef", "PASSWORD=[secret] --token=[secret]"),
    ],
)
def test_the_value_after_the_name_of_a_secret_is_masked(text: str, shown: str) -> None:
    assert named_secrets.masked(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "--max-tokens=8000",
        "--key=/etc/ssl/private/key.pem",
        "--token=$MY_TOKEN",
        "TOKEN=${MY_TOKEN}",
        "--token-from=GITLAB_TOKEN",
        "--token-file=secrets.txt",
        "token: see the documents",
        "--model=claude-sonnet-4-5-20250929",
        "a key by which rows are sorted",
        "PWD=somewhere-else",
        "10s",
    ],
)
def test_an_ordinary_setting_stays_as_it_is(text: str) -> None:
    assert named_secrets.masked(text) == text


def test_the_word_after_an_option_and_the_value_of_a_key_with_the_name_of_a_secret_are_masked() -> None:
    assert named_secrets.masked(["tool", "--token", "tok_1234567890", "--verbose", "more-or-less"]) == [
        *("tool", "--token", "[secret]", "--verbose", "more-or-less"),
    ]
    assert named_secrets.masked(["tool", "--password", "--from-a-file"]) == ["tool", "--password", "--from-a-file"]
    assert named_secrets.masked(["tok_1234567890", "tok_0987654321"], "api_tokens") == ["[secret]", "[secret]"]
    words = ["token", "see-the-documents", 12, "--kind=token", "more-or-less"]
    assert named_secrets.masked(words) == words
    assert named_secrets.masked("tok_1234567890", "api_token") == "[secret]"
    assert named_secrets.masked({"api_token": "tok_1234567890", "name": "a-long-name"}) == {
        "api_token": "[secret]",
        "name": "a-long-name",
    }
    assert named_secrets.masked("GITLAB_TOKEN", "token_variable") == "GITLAB_TOKEN"
    assert named_secrets.masked("MYTOKEN", "token_env") == "MYTOKEN"
    assert named_secrets.masked("keys/github.pem", "private_key_path") == "keys/github.pem"
    assert named_secrets.masked(12, "max_tokens") == 12
