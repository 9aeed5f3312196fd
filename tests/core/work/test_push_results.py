from __future__ import annotations

import pytest

from prloom.core.work import push_results

# What git 2.39 to 2.50 writes to its two outputs, against the servers that people use.
ENDINGS = {
    "stale": ("!\tabc:refs/heads/x\t[rejected] (stale info)\n", "error: failed to push some refs", "lost_race"),
    "behind": ("!\tabc:refs/heads/x\t[rejected] (fetch first)\n", "", "lost_race"),
    "two at once": (
        "!\tabc:refs/heads/x\t[remote rejected] (cannot lock ref 'refs/heads/x': is at 1 but expected 2)\n",
        "",
        "lost_race",
    ),
    "a name beside": (
        "!\tabc:refs/heads/x/y\t[remote rejected] (failed to update ref)\n",
        "remote: error: cannot lock ref 'refs/heads/x/y': 'refs/heads/x' exists; cannot create 'refs/heads/x/y'\n",
        "refused",
    ),
    "a name beside, on GitHub": ("!\tabc:refs/heads/x/y\t[remote rejected] (directory file conflict)\n", "", "refused"),
    "protected": (
        "!\tabc:refs/heads/x\t[remote rejected] (protected branch hook declined)\n",
        "remote: error: GH006: Protected branch update failed for refs/heads/x.\n",
        "refused",
    ),
    "rules": (
        "!\tabc:refs/heads/x\t[remote rejected] (push declined due to rule violations)\n",
        "",
        "refused",
    ),
    "workflow": (
        "!\tabc:refs/heads/x\t[remote rejected] (refusing to allow an OAuth App to create or update workflow)\n",
        "",
        "refused",
    ),
    "no right": ("", "remote: Permission to a/b.git denied to c.\nfatal: unable to access 'x': error: 403", "denied"),
    "no password": ("", "fatal: could not read Username for 'https://github.com': terminal prompts disabled", "denied"),
    "no key": (
        "",
        "git@github.com: Permission denied (publickey).\nfatal: Could not read from remote repository.",
        "denied",
    ),
    "no repository": ("", "remote: Repository not found.\nfatal: repository 'https://x/' not found", "denied"),
    "no network": ("", "fatal: unable to access 'https://x/': Could not resolve host: x", "unreachable"),
    "server": ("", "fatal: unable to access 'https://x/': The requested URL returned error: 503", "unreachable"),
    "limit": ("", "fatal: unable to access 'https://x/': The requested URL returned error: 429", "unreachable"),
    "new refusal": ("!\tabc:refs/heads/x\t[rejected] (something else)\n", "", "refused"),
    "refusal without a ref": ("", "remote: error: GH013: Repository rule violations found.\n", "refused"),
    "new": ("", "fatal: something else", "unknown"),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_each_failure_is_of_its_kind(name: str):
    out, err, cause = ENDINGS[name]

    assert push_results.read(out, err).cause == cause


def test_a_refusal_because_of_a_name_says_which_branch_is_in_the_way():
    out, err, _ = ENDINGS["a name beside"]

    assert push_results.read(out, err).reason == (
        "it has a branch x, and git cannot have x/y beside it; rename one of them, or delete x"
    )


def test_what_may_succeed_later_is_tried_again():
    causes = {
        push_results.read(out, err).cause: push_results.read(out, err).retryable for out, err, _ in ENDINGS.values()
    }

    assert causes == {"lost_race": True, "unreachable": True, "unknown": True, "refused": False, "denied": False}


@pytest.mark.parametrize(
    ("out", "err", "reason"),
    [
        (
            "!\tabc:refs/heads/x\t[remote rejected] (pre-receive hook declined)\n",
            "remote: Resolving deltas: 100%\nremote: -----\nremote: error: STOP!\nremote: name a ticket\nremote: bye\n",
            "[remote rejected] (pre-receive hook declined); STOP!; name a ticket",
        ),
        (
            "",
            "To x\nssh: connect to host x port 22: Connection refused\nfatal: Could not read from remote repository.\n",
            "ssh: connect to host x port 22: Connection refused",
        ),
        ("", "error: failed to push some refs to 'x'\nerror: there is no y\n", "error: there is no y"),
        ("", f"fatal: {'x' * 300}", f"fatal: {'x' * 292}…"),
    ],
)
def test_a_reason_is_what_the_server_says_or_else_git(out: str, err: str, reason: str):
    assert push_results.read(out, err).reason == reason


@pytest.mark.parametrize("password", ["secret", "p@ss@word"])
def test_a_reason_names_no_password(password: str):
    assert (
        push_results.read("", f"fatal: unable to access 'https://me:{password}@x/'").reason
        == "fatal: unable to access 'https://…@x/'"
    )


def test_a_failure_without_a_word_is_said_to_be_one():
    assert push_results.read("", "").reason == "git gave no reason"


def test_a_branch_that_is_missing_is_told_from_other_failures():
    assert push_results.is_missing("fatal: couldn't find remote ref refs/heads/x")
    assert not push_results.is_missing("fatal: could not resolve host")
