"""The table `[sandbox]`: what agents, checks and set-up commands can reach."""

from typing import Literal

from pydantic import Field

from prloom.config.section import ConfigSection
from prloom.config.values import Text, Variable


class SandboxSection(ConfigSection):
    """The sandbox in which agents, checks and commands of the set-up run; it needs bubblewrap."""

    mode: Literal["auto", "required", "off"] = Field(
        default="auto",
        description='"auto" uses a sandbox where bubblewrap works, and says where it does not; with "required", '
        'nothing runs without one; "off" uses none.',
    )
    read: tuple[Text, ...] = Field(
        default=(),
        description="Further files and folders that can be read there; `~` is your home, where otherwise only what "
        "the agent program needs is to be seen.",
    )
    write: tuple[Text, ...] = Field(default=(), description="Files and folders that can be written, too.")
    env: tuple[Variable, ...] = Field(
        default=(), description="Further variables of your environment that runs get, beside `[agents] env`."
    )
    network: Literal["on", "off"] = Field(
        default="on", description="Whether checks and set-up commands have a network; agents need it for their model."
    )
