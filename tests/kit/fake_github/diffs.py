"""The files of a pull request, their patches, and which lines can be commented on."""

from __future__ import annotations

from .things import FileDiff


def lines(file: FileDiff) -> list[tuple[str, int, str]]:
    """Return side, line number and text of each line of the hunk, as a patch has them."""
    old = (
        [("LEFT", number, f"-old line {number}") for number in range(file.old[0], file.old[1] + 1)] if file.old else []
    )
    new = [("RIGHT", number, f"+new line {number}") for number in range(file.new[0], file.new[1] + 1)]
    return old + new


def header(file: FileDiff) -> str:
    first, last = file.old or (0, -1)
    return f"@@ -{first},{last - first + 1} +{file.new[0]},{file.new[1] - file.new[0] + 1} @@"


def position(file: FileDiff, side: str, line: int) -> int | None:
    """Return how many lines below the hunk's header the line stands; None: it is not in the diff."""
    places = {(at_side, at_line): place for place, (at_side, at_line, _) in enumerate(lines(file), start=1)}
    return places.get((side, line))


def hunk(file: FileDiff, place: int) -> str:
    """Return the patch as far as the line at this place."""
    return "\n".join([header(file), *(text for _, _, text in lines(file)[:place])])


def counts(file: FileDiff) -> tuple[int, int]:
    sides = [side for side, _, _ in lines(file)]
    return sides.count("RIGHT"), sides.count("LEFT")
