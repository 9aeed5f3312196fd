"""Everything that the author of a plugin or a bridge imports."""

from prloom.api import duration
from prloom.api.bridge import (
    Acknowledges,
    Bridge,
    BridgeContext,
    Delivered,
    DeliversBatches,
    Files,
    Permissions,
    Polled,
    Refused,
    TrackedPlan,
    UsesOrigin,
)
from prloom.api.context import HookContext
from prloom.api.duration import Duration
from prloom.api.forge import Forge, Issue, PostedComment, PullRequest
from prloom.api.http import Answer, Http, HttpError, HttpNeeds, UsesHttp
from prloom.api.intercept import InterceptContext, ToolContext
from prloom.api.manifest import Manifest
from prloom.api.plan_context import PlanContext
from prloom.api.plugin import PluginContext
from prloom.api.triage import TriageContext
from prloom.core.delivery.outbox import PLAN_TARGET, marked, marker
from prloom.core.pull_requests.cockpit_markers import ticked
from prloom.errors import ExtensionError, UnsafePathError
from prloom.model.action import (
    Action,
    AddLabels,
    AssignUsers,
    ClosePr,
    Comment,
    InlineComment,
    Merge,
    Payload,
    React,
    RemoveLabels,
    RequestReviewers,
    ResolveThread,
    Review,
    SetMilestone,
    UpsertPlan,
)
from prloom.model.event import Author, Event, Target
from prloom.model.hook import PluginDeferral as Deferral
from prloom.model.hook_points import HOOKS
from prloom.model.kinds import CHECKS_CHANGED, NOTICES, PERMISSIONS, SPEECH
from prloom.model.record import Json, iso, moment
from prloom.model.tool import Session, ToolCall, ToolResult

__all__ = [
    "CHECKS_CHANGED",
    "HOOKS",
    "NOTICES",
    "PERMISSIONS",
    "PLAN_TARGET",
    "SPEECH",
    "Acknowledges",
    "Action",
    "AddLabels",
    "Answer",
    "AssignUsers",
    "Author",
    "Bridge",
    "BridgeContext",
    "ClosePr",
    "Comment",
    "Deferral",
    "Delivered",
    "DeliversBatches",
    "Duration",
    "Event",
    "ExtensionError",
    "Files",
    "Forge",
    "HookContext",
    "Http",
    "HttpError",
    "HttpNeeds",
    "InlineComment",
    "InterceptContext",
    "Issue",
    "Json",
    "Manifest",
    "Merge",
    "Payload",
    "Permissions",
    "PlanContext",
    "PluginContext",
    "Polled",
    "PostedComment",
    "PullRequest",
    "React",
    "Refused",
    "RemoveLabels",
    "RequestReviewers",
    "ResolveThread",
    "Review",
    "Session",
    "SetMilestone",
    "Target",
    "ToolCall",
    "ToolContext",
    "ToolResult",
    "TrackedPlan",
    "TriageContext",
    "UnsafePathError",
    "UpsertPlan",
    "UsesHttp",
    "UsesOrigin",
    "duration",
    "iso",
    "marked",
    "marker",
    "moment",
    "ticked",
]
