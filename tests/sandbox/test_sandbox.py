"""A run sees the system read-only, its own clone, and nothing else of the operator's."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import psutil
import pytest
from workbench import FAST, Run, Workbench

NOTE = "import json, os, subprocess\nfrom pathlib import Path\n"


def tried(bench: Workbench) -> dict[str, str]:
    """Return what each attempt of the worker came to."""
    found: dict[str, str] = json.loads((bench.home / "tried.json").read_text())
    return found


def attempts(bench: Workbench, commands: dict[str, str]) -> str:
    """Return the code of a worker that tries these commands of a shell, and notes what each came to."""
    return (
        f"{NOTE}commands = {commands!r}\n"
        "found = {}\n"
        "for name, each in commands.items():\n"
        "    ended = subprocess.run(['sh', '-c', each], capture_output=True, text=True, timeout=30)\n"
        "    found[name] = ended.stdout.strip() or f'refused {ended.returncode}'\n"
        "(home / 'tried.json').write_text(json.dumps(found))\n"
    )


async def test_a_todo_is_done_in_a_sandbox_with_its_check(bench: Workbench):
    bench.configure('checks = ["test -f fast.py && git status --porcelain | grep -q fast.py"]')

    await bench.make_it_fast()

    assert bench.commits == ["Be fast"]
    assert bench.boxes == ["- [x] Make it fast"]


def shared_memory() -> Path:
    """Return a file in the system's shared memory that only this process has."""
    return Path(f"/dev/shm/prloom-{os.getpid()}")


def planted(bench: Workbench) -> dict[str, str]:
    """Plant what a worker must not reach, and return the commands that would show or change it."""
    root, home = bench.project.root, bench.home.parent / "operator"
    home.mkdir()
    (home / ".ssh").mkdir()
    (home / ".ssh/id_ed25519").write_text("SECRET")
    (home / ".config/gh").mkdir(parents=True)
    (home / ".config/gh/hosts.yml").write_text("SECRET")
    (home / ".netrc").write_text("SECRET")
    (root / "mine.txt").write_text("SECRET")
    (bench.worktree / "prloom/.local/secret").write_text("SECRET")
    shared = Path(f"/dev/shm/prloom-{os.getpid()}")
    shared.write_text("SECRET")
    reads = {
        "a key": f"cat {home}/.ssh/id_ed25519",
        "gh's token": f"cat {home}/.config/gh/hosts.yml",
        "netrc": f"cat {home}/.netrc",
        "all of home": f"grep -rs SECRET {home}",
        "the checkout": f"cat {root}/mine.txt",
        "the checkout by ..": "cat ../../../../mine.txt",
        "the checkout's files": f"ls -A {root} | grep -v -e '^prloom$' -e '^.git$'",
        "git's configuration": f"cat {root}/.git/config",
        "git's files": f"ls -A {root}/.git | grep -v objects",
        "git's hooks": f"ls {root}/.git/hooks",
        "git's refs": f"ls {root}/.git/refs",
        "the plan's worktree": f"ls -A {bench.worktree} | grep -v '^prloom$'",
        "the plan's text": f"cat {bench.plan}",
        "prloom's files": f"grep -rs SECRET {bench.worktree}/prloom",
        "the bus": f"cat {bench.worktree}/prloom/.local/bus/events.jsonl",
        "other clones": f"ls {root}/prloom/.local/clones | grep -v '^work$'",
        "prloom's index of the clone": f"ls {root}/prloom/.local/indexes",
        "the exchange": f"ls {root}/prloom/.local/exchange.db",
        "the run's record": f"ls {bench.worktree}/prloom/.local/runs/*/invocation.json | grep -v $PRLOOM_RUN",
        "shared memory": f"cat {shared}",
        "another's environment": f"tr '\\0' '\\n' < /proc/{os.getpid()}/environ | grep -i prloom",
        "another's root": f"ls /proc/{os.getpid()}/root",
        "another's files": f"ls /proc/{os.getpid()}/fd",
        "all processes": "ls /proc | grep -E '^[0-9]+$' | wc -l | awk '$1 > 12'",
        "a link": f"ln -s {home}/.ssh/id_ed25519 link && cat link; rm -f link",
        "a hard link": f"ln {home}/.netrc hard && cat hard; rm -f hard",
        "a hard link into shared memory": f"ln {shared} hard && cat hard; rm -f hard",
        "the runtime folder": "ls /run/user /run/dbus /var/run/docker.sock 2>/dev/null",
        "temporary files": "ls -A /tmp | grep -v -e pytest -e prloom",
        "the root by its inode": "ls /proc/1/root/root/.ssh 2>/dev/null",
        "an open file of another run": "timeout 5 cat /proc/*/fd/* </dev/null 2>/dev/null | grep -a SECRET",
    }
    writes = {
        "write the checkout": f"echo evil > {root}/README.md && echo wrote",
        "write a hook": f"mkdir -p {root}/.git/hooks && echo evil > {root}/.git/hooks/pre-commit && echo wrote",
        "write git's configuration": f"git -C {root} config core.sshCommand evil && echo wrote",
        "write a ref": f"git --git-dir={root}/.git update-ref refs/heads/evil HEAD && echo wrote",
        "write an object": f"echo x > {root}/.git/objects/evil && echo wrote",
        "remove the objects": f"rm -rf {root}/.git/objects/* && echo wrote",
        "write the plan": f"echo evil >> {bench.plan} && echo wrote",
        "write the bus": f"echo '{{}}' >> {bench.worktree}/prloom/.local/bus/events.jsonl && echo wrote",
        "write review.md": f"echo '- [ ] evil' >> {bench.worktree}/prloom/.local/review.md && echo wrote",
        "write prloom.toml": f"echo evil >> {root}/prloom.toml && echo wrote",
        "write prloom's index": f"echo evil > {root}/prloom/.local/indexes/work/HEAD && echo wrote",
        "write the run's record": f"echo x > {bench.worktree}/prloom/.local/runs/$PRLOOM_RUN/output.log && echo wrote",
        "remove the run's record": f"rm -rf {bench.worktree}/prloom/.local/runs/$PRLOOM_RUN && echo wrote",
        "write another clone": f"mkdir {root}/prloom/.local/clones/other && echo wrote",
        "write a key": f"mkdir -p {home}/.ssh; echo evil >> {home}/.ssh/authorized_keys",
        "write a shell's file": f"echo evil >> {home}/.bashrc",
        "write a program": "echo evil > /usr/local/bin/evil && echo wrote",
        "write prloom itself": "echo evil >> $(python3 -c 'import prloom; print(prloom.__file__)') && echo wrote",
        "write /etc": "echo evil >> /etc/profile && echo wrote",
        "write cron": "echo evil > /etc/cron.d/evil && echo wrote",
        "write the kernel's settings": "echo evil > /proc/sys/kernel/core_pattern && echo wrote",
        "trigger the kernel": "echo h > /proc/sysrq-trigger && echo wrote",
        "write the kernel's modules": "echo evil > /sys/kernel/uevent_helper && echo wrote",
        "write shared memory": f"echo evil > {shared}",
        "mount": "mount -t tmpfs none /mnt && echo wrote",
        "unmount": f"umount {root} && cat {root}/mine.txt",
        "mount again": "mount -o remount,rw / && echo wrote",
        "another namespace": "unshare -rm sh -c 'mount --bind / /mnt && echo wrote'",
        "make a device": "mknod disk b 8 0 && echo wrote",
        "read a disk": "head -c 16 /dev/sda /dev/vda /dev/nvme0n1 2>/dev/null",
        "read memory": "head -c 16 /dev/mem /dev/kmem /proc/kcore 2>/dev/null",
        "leave the root": "chroot /proc/1/root cat /etc/shadow",
        "change the owner": f"chown 12345 {root} && echo wrote",
        "set a capability": "setcap cap_sys_admin+ep $(command -v true) && echo wrote",
        "kill the dispatcher": f"kill -0 {os.getpid()} && echo wrote",
        "trace another": f"head -c 1 /proc/{os.getpid()}/mem && echo wrote",
    }
    return reads | writes


async def test_of_sixty_attempts_to_get_out_none_succeeds(bench: Workbench):
    commands = planted(bench)
    assert len(commands) >= 60
    before = bench.project.git("for-each-ref")
    bench.script(Run(FAST.files, code=attempts(bench, commands), answer=FAST.answer))
    bench._environ["HOME"] = str(bench.home.parent / "operator")
    bench.pools.close()

    await bench.work_on("- [ ] Make it fast")

    found = tried(bench)
    secrets = {name: said for name, said in found.items() if "SECRET" in said or "wrote" in said}
    assert secrets == {}
    assert {name: said for name, said in found.items() if not said.startswith("refused")} == {}
    assert bench.commits == ["Be fast"]
    assert bench.project.git("for-each-ref", "refs/heads/main") in before
    assert (bench.project.root / "mine.txt").read_text() == "SECRET"
    assert shared_memory().read_text() == "SECRET"
    home = bench.home.parent / "operator"
    assert sorted(os.listdir(home)) == [".config", ".netrc", ".ssh"]
    assert os.listdir(home / ".ssh") == ["id_ed25519"]


async def test_what_a_run_has_started_ends_with_it(bench: Workbench):
    code = f"{NOTE}subprocess.Popen(['sh', '-c', 'sleep 60; touch {bench.home}/late'], start_new_session=True)\n"
    bench.script(Run(FAST.files, code=code, answer=FAST.answer))

    await bench.work_on("- [ ] Make it fast")

    assert bench.commits == ["Be fast"]
    found = [each.info["cmdline"] or () for each in psutil.process_iter(["cmdline"])]
    assert [words for words in found if any(word.endswith("/late") for word in words)] == []


@pytest.mark.parametrize("network", ["on", "off"])
async def test_a_check_has_no_network_where_the_operator_wants_none(bench: Workbench, network: str):
    bench.configure(f'checks = ["readlink /proc/self/ns/net > {bench.home}/network"]', f'network = "{network}"\n')

    await bench.make_it_fast()

    assert bench.commits == ["Be fast"]
    own = await asyncio.to_thread(os.readlink, "/proc/self/ns/net")
    assert ((bench.home / "network").read_text().strip() == own) == (network == "on")


@pytest.mark.parametrize("mode", ["auto", "required"])
async def test_without_bubblewrap_a_run_goes_on_or_waits_as_the_operator_says(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, mode: str
):
    Workbench.configure(bench, "", f'[sandbox]\nmode = "{mode}"\n')
    bench._environ["PATH"] = "/nowhere"

    await bench.make_it_fast()

    if mode == "auto":
        assert bench.commits == ["Be fast"]
    else:
        assert bench.commits == []
        assert "bubblewrap (`bwrap`) is not on PATH" in (bench.state.work.waits_for if bench.state.work else "")
