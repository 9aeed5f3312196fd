"""Complete in bash: words that hold a colon, as ids of events do, and words that mean something to the shell.

Bash splits a word at each character of COMP_WORDBREAKS, of which `:` is one, and puts what is offered in the place of
the last part only. So the whole line is read, and what is offered is cut before it is returned.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from click.shell_completion import BashComplete, add_completion_class, split_arg_string

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_SCRIPT = """\
%(complete_func)s() {
    local kind value
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORDBREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1")
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""

_LINE = "COMP_LINE"
_PLAIN = re.compile(r"[\w.,:/@%+=-]", re.ASCII)
"""A character that means nothing to the shell."""

_IN_DOUBLE_QUOTES = re.compile(r'(["$`\\])')


class Written(NamedTuple):
    """How the word that is being written begins: in which quotation, and how many of its characters bash keeps."""

    quote: str
    kept: int


@add_completion_class
class LineComplete(BashComplete):
    """Reads the line as bash has it, and offers each word as it has to be written there."""

    source_template = _SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one that is being written, and that one."""
        line = os.environ.get(_LINE)
        if line is None:  # a shell has the script of an earlier version
            return super().get_completion_args()
        words = split_arg_string(f"{line}.")  # so that there is a last word, also after a space
        return words[1:-1], words[-1].removesuffix(".")

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return an item for the script: its kind, and what is to stand in place of the part that bash replaces."""
        line = os.environ.get(_LINE)
        if line is None:
            return super().format_completion(item)
        begun = written(line, os.environ.get("COMP_WORDBREAKS", ""))
        return f"{item.type},{quoted(item.value[begun.kept :], begun.quote)}"


def written(line: str, breaks: str) -> Written:
    """Return how the last word of a line begins; bash breaks it at some characters, unless these are quoted."""
    quote, kept, length = "", 0, 0
    characters = iter(line)
    for each in characters:
        if each == "\\" and quote != "'":
            next(characters, "")
            length += 1
        elif each == quote:
            quote = ""
        elif quote:
            length += 1
        elif each in {'"', "'"}:
            quote = each
        elif each.isspace():
            kept = length = 0
        else:
            length += 1
            if each in breaks:
                kept = length
    return Written(quote, kept)


def quoted(text: str, quote: str) -> str:
    """Return a text as it is written in bash, after an open quotation or none, so that nothing in it is obeyed."""
    if quote == "'":
        return text.replace("'", "'\\''")
    if quote:
        return _IN_DOUBLE_QUOTES.sub(r"\\\1", text)
    return "".join(each if _PLAIN.match(each) else f"\\{each}" for each in text)
