"""The keys of `[bridges.github]` that are this bridge's own. prloom reads this file with the configuration."""

import json
import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field

PUBLIC_API = "https://api.github.com"

Reaction = Literal["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"]
"""The reactions by their names in GitHub's API (https://docs.github.com/rest/reactions/reactions)."""

_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


def _repository(value: str) -> str:
    if value and not _REPOSITORY.fullmatch(value):
        raise ValueError(f'is {_quoted(value)}, which is not the name of a repository; write "owner/name"')
    return value


def _address(value: str) -> str:
    if not re.match(r"https?://[^\s/]", value):
        raise ValueError(f'is {_quoted(value)}, which is not a web address; write one such as "{PUBLIC_API}"')
    return value


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


class Config(BaseModel):
    """Pull requests on GitHub or GitHub Enterprise."""

    repo: Annotated[str, AfterValidator(_repository)] = Field(
        default="", description='The repository as "owner/name"; if it is empty, prloom uses the git remote.'
    )
    api_url: Annotated[str, AfterValidator(_address)] = Field(
        default=PUBLIC_API, description='The address of the API; for GitHub Enterprise, "https://HOST/api/v3".'
    )
    acknowledge: Literal["", Reaction] = Field(
        default="eyes",
        description='The reaction that acknowledges a new comment by a trusted person; "" for none.',
    )
