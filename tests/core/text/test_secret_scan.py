"""Secrets in what is to be posted. No key in here is one: each is put together from its prefix and dice."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable

import pytest

from prloom.core.text import secret_scan
from prloom.core.text.secret_scan import SecretMask
from prloom.model.action import Action, AddLabels, Comment, Review, UpsertPlan
from prloom.model.event import Target

DICE = random.Random(7)


def dice(length: int, letters: str = string.ascii_letters + string.digits) -> str:
    return "".join(DICE.choices(letters, k=length - 3)) + "aZ7"


BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
KEYS = {
    "a GitHub token": [*(f"gh{kind}_{dice(36)}" for kind in "pousr"), f"github_pat_{dice(22)}_{dice(59)}"],
    "a GitLab token": [f"glpat-{dice(20)}", f"gldt-{dice(20)}"],
    "an AWS access key": [f"AKIA{''.join(DICE.choices(BASE32, k=16))}", f"ASIA{''.join(DICE.choices(BASE32, k=16))}"],
    "an AWS secret key": [f"aws_secret_access_key = {dice(40)}", f'AWS_SECRET_KEY: "{dice(40)}"'],
    "a Slack token": [f"xoxb-{dice(12, string.digits)}-{dice(24)}", f"xapp-1-A0{dice(40)}"],
    "a Slack webhook": [f"https://hooks.slack.com/services/T0{'A1' * 4}/B0{'B2' * 4}/{dice(24)}"],
    "an Anthropic key": [f"sk-ant-api03-{dice(93)}AA", f"sk-ant-oat01-{dice(93)}"],
    "an OpenAI key": [f"sk-proj-{dice(48)}", f"sk-or-v1-{dice(64, '0123456789abcdef')}"],
    "an API key": [f"sk-{dice(48)}"],
    "a Stripe key": [f"sk_live_{dice(24)}", f"rk_live_{dice(24)}"],
    "a Google key": [f"AIza{dice(35)}", f"GOCSPX-{dice(28)}", f"ya29.{dice(60)}"],
    "an npm token": [f"npm_{dice(36)}", f"npm_{'abcdefg1' * 4}abcd"],
    "a PyPI token": [f"pypi-AgEIcHlwaS5vcmc{dice(80)}"],
    "a Hugging Face token": [f"hf_{dice(34)}"],
    "a JSON web token": [f"eyJhbGciOiJIUzI1NiJ9.eyJ{dice(30)}.{dice(43)}"],
    "a private key": [
        f"-----BEGIN RSA PRIVATE KEY-----\n{dice(64)}\n{dice(64)}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\\n{dice(64)}\\n",
        f"> -----BEGIN EC PRIVATE KEY-----\n> Proc-Type: 4,ENCRYPTED\n> DEK-Info: AES\n> {dice(64)}",
        f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{dice(64)}",
    ],
}
ALL = [(what, key) for what, keys in KEYS.items() for key in keys]
SECRET = "correct-Horse?>?battery/9taple+1"
SECRETS = {"the value of DEPLOY_TOKEN": SECRET}
ZERO_WIDTH = "\u200b"


@pytest.mark.parametrize(("what", "key"), ALL, ids=[f"{what} {n}" for n, (what, _) in enumerate(ALL)])
def test_a_key_is_known_by_its_form_wherever_it_stands(what: str, key: str):
    for text in (key, f"The key is `{key}`.", f"KEY={key}", f'{{"key": "{key}"}}', f"über\n\n    {key}\n"):
        assert secret_scan.in_text(text, {}) == (what,)


@pytest.mark.parametrize(("what", "key"), ALL, ids=[f"{what} {n}" for n, (what, _) in enumerate(ALL)])
def test_no_letter_of_a_masked_key_is_left(what: str, key: str):
    shown = secret_scan.masked(f"before {key} after", {})

    assert key.removesuffix("-----END RSA PRIVATE KEY-----").strip()[-20:] not in shown
    assert secret_scan.in_text(shown, {}) == ()
    assert shown.startswith("before ")


@pytest.mark.parametrize(
    "text",
    [
        "Set `GITHUB_TOKEN` to a token that begins with ghp_, github_pat_ or ghs_.",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "github_pat_XXXXXXXXXXXXXXXXXXXXXX_XXXXXXXXXXXXXXXXXXXXXXXXXXXX",
        "export ANTHROPIC_API_KEY=sk-ant-api03-your-key-goes-here-please",
        "sk-ant-api03-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "AKIAIOSFODNN7EXAMPLE, as the manual has it",
        "a file that begins with -----BEGIN PRIVATE KEY----- is one, and must not be committed",
        "-----BEGIN CERTIFICATE-----\nMIIB8TCCAZegAwIBAgIUQm9vQm9vQm9vQm9vQm9vQm9vQm8wCgYIKoZIzj0EAwI=\n",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK0wmN/Cr3JXqmLW7u+g9pTh+wyqDHpSQEIQczXkVx9q ann@example.org",
        "commit 7f52a41c8f0c3e3d1a2b4c5d6e7f8091a2b3c4d5 fixes it",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "task-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF and risk-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF",
        "xoxo-and-thank-you-very-much-for-this",
        "sk-learn is `scikit-learn`; sk-some-very-long-name-of-a-branch-that-somebody-chose",
        "123e4567-e89b-12d3-a456-426614174000",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "the eyJ prefix of a token is base64 for an opening brace",
        "<!-- prloom:action a-d89b18736c3e8e67f060 -->",
        "aws_secret_access_key = os.environ['AWS_SECRET_ACCESS_KEY_OF_THE_TESTS_ACCOUNT']",
    ],
)
def test_what_people_write_about_keys_is_none(text: str):
    assert secret_scan.in_text(text, SECRETS) == ()
    assert secret_scan.in_source(text, SECRETS) == ()
    assert secret_scan.masked(text, SECRETS) == text


@pytest.mark.parametrize(
    "spelled",
    [
        SECRET,
        f"It is {SECRET}!",
        " ".join(SECRET),
        "\u200b".join(SECRET),
        "\n".join(SECRET),
        "<!-- -->".join(SECRET[at : at + 5] for at in range(0, len(SECRET), 5)),
        "".join(f"<b>{letter}</b>" for letter in SECRET),
        SECRET[::-1],
        base64.b64encode(SECRET.encode()).decode(),
        base64.b64encode(b"x" + SECRET.encode() + b"yz").decode(),
        base64.urlsafe_b64encode(b"xy" + SECRET.encode()).decode(),
        SECRET.encode().hex(),
        SECRET.encode().hex(" ").upper(),
    ],
)
def test_a_known_value_is_found_in_disguise_too(spelled: str):
    assert secret_scan.in_text(f"Look: {spelled} and so on", SECRETS) == ("the value of DEPLOY_TOKEN",)
    assert SECRET not in secret_scan.masked(f"Look: {spelled} and so on", SECRETS)


@pytest.mark.parametrize("spelled", [" ".join(SECRET), SECRET[::-1], SECRET.encode().hex(" ")])
def test_of_a_known_value_in_disguise_an_agents_output_shows_nothing(spelled: str):
    assert SecretMask(SECRETS).masked(f"Look: {spelled} and so on") == secret_scan.MASK


@pytest.mark.parametrize("before", ["", "x", "xy"])
@pytest.mark.parametrize("value", [SECRET, SECRET[:-1], SECRET[:-2]])
def test_a_known_value_is_found_in_base64_whatever_stands_beside_it(before: str, value: str):
    coded = base64.b64encode(f"{before}{value} and so on".encode()).decode()

    assert secret_scan.in_text(coded, {"the value of A": value}) == ("the value of A",)


def test_a_known_value_that_is_broken_up_by_what_nobody_sees_is_found_in_a_programs_text():
    assert secret_scan.in_source(f"key = '{ZERO_WIDTH.join(SECRET)}'", SECRETS) == tuple(SECRETS)


@pytest.mark.parametrize("order", [1, -1])
def test_of_a_secret_that_has_another_one_in_it_nothing_is_left(order: int):
    longer = f"A-part-before-{SECRET}-and-after"
    secrets = dict([("the value of A", SECRET), ("the value of B", longer)][::order])

    assert secret_scan.masked(f"It is {longer}.", secrets) == "It is [secret]."
    assert SecretMask(secrets).masked(f"It is {longer}.") == "It is [secret]."


def test_a_value_of_twelve_letters_is_a_secret_in_what_agents_print():
    mask = SecretMask({"the value of A": "abcdef-12345"})

    assert mask.masked("It is abcdef-12345.") == "It is [secret]."
    assert mask.masked("abcdef-12345") == "[secret]"


def test_a_key_that_is_broken_up_by_what_nobody_sees_is_found():
    ((key, *_), *_) = KEYS.values()
    for between in ("\u200b", "\u2060", "\ufeff", "<!-- -->", "<b></b>", "\U000e0041"):
        assert secret_scan.in_text(f"{key[:9]}{between}{key[9:]}", {}) == ("a GitHub token",)


def test_what_is_known_is_told_by_its_name_and_not_by_its_form_as_well():
    key = KEYS["a GitHub token"][0]

    assert secret_scan.in_text(key, {"the value of GITHUB_TOKEN": key}) == ("the value of GITHUB_TOKEN",)


@pytest.mark.parametrize("what", ["a GitHub token", "an AWS access key"])
def test_every_text_of_every_payload_is_looked_through(what: str):
    key = KEYS[what][0]
    payloads = [
        Comment(key),
        Review("comment", summary=key),
        Review("comment", comments=({"path": "a", "line": 1, "body": key},)),
        AddLabels(("fine", key)),
        UpsertPlan(source="s", title="t", plan_markdown="p", metadata={"deep": [{key: 1}]}),
    ]

    for payload in payloads:
        action = Action(id="a-1", target=Target("forge", {"thread": 1}), payload=payload)
        assert secret_scan.in_action(action, {}) == (what,)


def test_the_texts_of_an_action_are_those_that_it_would_publish():
    review = Review("comment", summary="why", comments=({"path": "a", "line": 1, "body": "b"},))
    action = Action(id="a-1", target=Target("forge", {"thread": 1}), payload=review)

    assert tuple(secret_scan.texts(action)) == ("comment", "why", "path", "a", "line", "body", "b")


def test_a_secret_that_is_no_text_is_found_and_harms_no_other_text():
    secrets = secret_scan.environment_secrets({"DEPLOY_TOKEN": "abc\udcffdef0123456789"})

    for text in ("hello", "hello \udcff hello"):
        assert secret_scan.in_text(text, secrets) == ()
        assert secret_scan.masked(text, secrets) == SecretMask(secrets).masked(text) == text
    assert secret_scan.in_text("abc\udcffdef0123456789", secrets) == ("the value of DEPLOY_TOKEN",)


def test_the_secrets_of_an_environment_are_those_that_are_named_for_one():
    found = secret_scan.environment_secrets(
        {
            "GITHUB_TOKEN": "0123456789abcdef",
            "MY_API_KEY": " secretvalue1 \n",
            "SIX_LETTERS_TOKEN": "abcdefabcdef",
            "ELEVEN_LETTERS_TOKEN": "--secret-value--",
            "DB_PASSWORD": "short",
            "DATABASE_URL": "postgres://ann:hunter2@hunter@db?user=me@x",
            "PATH": "/usr/bin:/home/ann/bin",
            "TOKEN_FILE": "/run/secrets/token",
            "HOME_TOKEN": "~/secrets/deploy-token",
            "HERE_TOKEN": "./secrets/deploy-token",
            "OTHER_URL": "postgres://ann:hunter?3#hunter@db/x",
            "CACHES": "redis://a:firstpassword1@h/0,redis://b:secondpassword2@h/0",
            "FAKE_TOKEN": "xxxxxxxxxxxxxxxxxxxxxxx",
            "KEYBOARD": "abcdefghijklmnopqrst",
            "EDITOR": "a-very-long-editor-name-1234",
        }
    )

    assert found == {
        "the value of GITHUB_TOKEN": "0123456789abcdef",
        "the value of MY_API_KEY": "secretvalue1",
        "the value of SIX_LETTERS_TOKEN": "abcdefabcdef",
        "the password in CACHES": "firstpassword1",
        "the password in CACHES (2)": "secondpassword2",
        "the password in DATABASE_URL": "hunter2@hunter",
        "the password in OTHER_URL": "hunter?3#hunter",
    }


KEY = KEYS["a GitHub token"][0]
HALF, REST = KEY[:20], KEY[20:]
ESCAPED = KEY.replace("_", "\\_")
HALF_ESCAPED = "github\\_" + KEYS["a GitHub token"][5].removeprefix("github_").replace("_", "%5F")


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"&#{ord(letter)};" for letter in KEY),
        "".join(f"&#x{ord(letter):x};" for letter in KEY),
        "".join(f"&amp;#{ord(letter)};" for letter in KEY),
        KEY.replace("_", "&lowbar;"),
        f"[{HALF}](https://example.com){REST}",
        f"[{HALF}][1]{REST}\n\n[1]: https://example.com",
        f"[{HALF}](x)[{REST}](y)",
        f"{HALF}<!-- a > b -->{REST}",
        f"{HALF}<!-- {'long ' * 99}-->{REST}",
        f"<p>{HALF}<!-- a > b -->{REST}</p>",
        f'{HALF}<a title=">">{REST}</a>',
        f'{HALF}<span title="{"x" * 300}">{REST}</span>',
        f"{HALF}**{REST}**",
        f"*{HALF}*~~{REST}~~",
        KEY.replace("_", "\\_"),
        f"{HALF}`{REST}`",
        f"{HALF}&#8203;{REST}",
        f"![{HALF}](x){REST}",
        f"[x](https://example.com/?q={KEY.replace('_', '%5F')})",
        f"[x](https://example.com/?q={ESCAPED}) and [y](https://example.com)",
        f"![x](https://example.com/{ESCAPED}.png)",
        f"[x](https://example.com/?q={HALF_ESCAPED})",
        f"| a |\n|---|\n| {HALF}**{REST}** |",
    ],
)
def test_a_key_that_only_readers_see_is_found(text: str):
    assert secret_scan.in_text(text, {}) == ("a GitHub token",)


@pytest.mark.parametrize(
    "disguise",
    [
        lambda value: "".join(f"&#{ord(letter)};" for letter in value),
        lambda value: f"{value[:9]}<!-- a > b -->{value[9:]}",
        lambda value: f"[{value[:9]}](https://example.com)[{value[9:]}][1]\n\n[1]: x",
        "&#8203;".join,
        lambda value: f"`{value[:9]}<b></b>{value[9:]}`",
    ],
)
def test_a_known_secret_that_only_readers_see_is_found(disguise: Callable[[str], str]):
    assert secret_scan.in_text(f"It is {disguise(SECRET)}.", SECRETS) == tuple(SECRETS)
    assert secret_scan.masked(f"It is {disguise(SECRET)}.", SECRETS) == secret_scan.MASK


@pytest.mark.parametrize(
    "name",
    [
        *("PGPASSWORD", "SSHPASS", "DB_PASS", "NPM_AUTHTOKEN", "SENTRY_DSN", "SLACK_WEBHOOK", "DISCORD_WEBHOOK_URL"),
        *("MYSQL_PWD", "REDISCLI_AUTH", "TS_AUTHKEY", "AWS_SECRETKEY", "AZURE_STORAGE_CONNECTION_STRING"),
        *("npm_config__authToken", "DEPLOY_TOKENS", "SESSION_COOKIE", "API_CREDS", "mongo-password"),
    ],
)
def test_a_variable_that_is_named_for_a_secret_holds_one(name: str):
    assert secret_scan.environment_secrets({name: SECRET}) == {f"the value of {name}": SECRET}


@pytest.mark.parametrize("name", ["PWD", "OLDPWD", "BYPASS", "COMPASS", "EDITOR", "KEYBOARD", "PASSENGER", "AUTHOR"])
def test_a_variable_that_is_named_for_something_else_holds_none(name: str):
    assert secret_scan.environment_secrets({name: SECRET}) == {}


@pytest.mark.parametrize("form", ["<a href='https://a.example/{}'>x</a>", "https://a.example/{}", "<img src='//x/{}'>"])
def test_a_key_that_an_address_outside_of_markdowns_links_spells_in_percent_is_found(form: str):
    assert secret_scan.in_text(form.format("".join(f"%{ord(each):02x}" for each in KEY)), {})
