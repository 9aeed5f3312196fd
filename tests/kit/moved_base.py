"""Move the base of the workbench's branch, as others do while prloom works on the branch."""

from __future__ import annotations

from workbench import Workbench


def move_base(bench: Workbench, name: str, content: str) -> str:
    """Commit a file to the base without any checkout, and return the commit."""
    index = bench.home / "index"
    bench.project.git("read-tree", "main", index=index)
    blob = bench.project.git("hash-object", "-w", "--stdin", given=content)
    bench.project.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}", index=index)
    tree = bench.project.git("write-tree", index=index)
    commit = bench.project.git("commit-tree", tree, "-p", "main", "-m", f"Change {name}")
    bench.project.git("update-ref", "refs/heads/main", commit)
    bench.project.git("read-tree", "-m", "main")
    (bench.project.root / name).write_text(content)
    return commit
