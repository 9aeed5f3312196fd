from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from prloom.core.reports import costs
from prloom.core.reports.costs import CostGroup, CostKey
from prloom.model.record import Timestamp
from prloom.model.run import RunRecord, RunUsage

AT = Timestamp.of(datetime(2026, 11, 21, 23, 59, tzinfo=UTC))


def a_run(**more: object) -> RunRecord:
    fields = {"id": "r", "plan": "p", "stage": "worker", "agent": "codex", "status": "ok"}
    return RunRecord(**(fields | {"started_at": AT, "seconds": 1.5} | more))  # type: ignore[arg-type]


def used(tokens_in: int, tokens_out: int) -> RunUsage:
    return RunUsage(input_tokens=tokens_in, output_tokens=tokens_out)


def test_measured_values_are_added_up_and_the_others_are_counted() -> None:
    runs = [a_run(usage=used(10, 1), cost_usd=0.1), a_run(usage=used(20, 2), cost_usd=0.2), a_run()]

    assert costs.total(runs, "all") == CostGroup(
        key="all", runs=3, seconds=4.5, input_tokens=30, output_tokens=3, cost_usd=0.3, unmeasured_runs=1
    )


def test_a_cost_that_no_run_named_is_unknown_and_not_nothing() -> None:
    assert costs.total([a_run(usage=used(1, 1))], "x").cost_usd is None
    assert costs.total([a_run(cost_usd=0.0)], "x").cost_usd == 0.0


def test_a_run_belongs_to_the_day_on_which_it_began() -> None:
    assert costs.key(a_run(model="m")) == CostKey(plan="p", stage="worker", agent="codex", model="m", day="2026-11-21")


def test_a_run_belongs_to_the_plugin_that_asked_for_it_and_an_older_record_to_none() -> None:
    by = costs.groups([a_run(), a_run(plugin="ci"), a_run(plugin="ci")], costs.KEYS["plugin"])

    assert {name: len(runs) for name, runs in by.items()} == {"(none)": 1, "ci": 2}
    assert costs.key(a_run(plugin="ci")).plugin == "ci"


@given(
    parts=st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from(("worker", "triage")), st.integers(0, 10**9)), max_size=20
    )
)
def test_the_sums_of_all_groups_are_the_sum_of_all_runs(parts: list[tuple[str, str, int]]) -> None:
    runs = [a_run(plan=plan, stage=stage, usage=used(tokens, 1)) for plan, stage, tokens in parts]

    sums = [costs.total(members, key) for key, members in costs.groups(runs, costs.key).items()]

    assert sum(each.runs for each in sums) == len(runs)
    assert sum(each.input_tokens for each in sums) == costs.total(runs, "all").input_tokens
