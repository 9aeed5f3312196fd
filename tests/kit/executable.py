"""A program that a test writes."""

from __future__ import annotations

from pathlib import Path


def write(path: Path, text: str) -> Path:
    """Write the text of a program, in a folder that need not exist, let everybody execute it, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path
