"""The tables `[[adopt]]`: which open pull requests prloom begins to look after by itself."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from prloom.config.problems import InvalidValue
from prloom.config.section import ConfigSection
from prloom.config.values import Count, Flag, Text
from prloom.core.pull_requests.adoption_rules import ME, AdoptionRule


def _authors(value: object) -> object:
    if value in ([], ()):
        raise InvalidValue("is empty, so the rule would fit nothing", f'name logins, "{ME}", or "*" for anybody')
    return value


class AdoptSection(ConfigSection):
    """A rule by which prloom adopts open pull requests; the first rule that fits decides."""

    authors: Annotated[tuple[Text, ...], BeforeValidator(_authors)] = Field(
        default=(ME,),
        description='Logins of which one opened the pull request; "@me" is prloom\'s own account, "*" anybody. If you '
        "name an author, you approve the title and the body of their pull requests.",
    )
    labels: tuple[Text, ...] = Field(
        default=(), description="Labels of which the pull request has one; if it is empty, labels do not matter."
    )
    base: tuple[Text, ...] = Field(
        default=(),
        description='Patterns such as "release/*", of which one fits the base branch; if it is empty, every base fits.',
    )
    drafts: Flag = Field(default=True, description="Whether drafts are adopted too.")
    forks: Flag = Field(default=False, description="Whether pull requests from forks are adopted too.")
    work: Flag | None = Field(
        default=None,
        description="Whether prloom may commit to the pull request; if it is not set, only to your own. "
        "It never commits to a fork.",
        examples=[True],
    )
    preset: Text | None = Field(default=None, description="The preset of the plan.", examples=["careful"])
    limit: Count = Field(default=20, ge=1, description="How many plans of this rule there may be at the same time.")

    def rule(self) -> AdoptionRule:
        """Return the rule as a value."""
        return AdoptionRule(**dict(self))
