"""Telecom as an environment: built-in tasks, rewards, the strict option, players."""

import json

import pytest
from support.tau import call, played, tau2_form, texts

from agentgym_envs.core import Observation, TaskNotFound
from agentgym_envs.tau.reading import tau2_task
from agentgym_envs.tau.tasks import TauTask
from agentgym_envs.tau.telecom import TauTelecom
from agentgym_envs.tau.telecom.builtin.company import company
from agentgym_envs.tau.telecom.builtin.generator import divided

TRANSFER = call("transfer_to_human_agents", summary="-")
DONE = call("done")


@pytest.fixture(scope="module")
def environment() -> TauTelecom:
    return TauTelecom()


def transfers(task: TauTask) -> bool:
    return "ACTION" in task.basis


def has_set_up(task: TauTask, *functions: str) -> bool:
    return {*functions} <= {call.function for call in task.setup}


def test_the_built_in_splits_are_disjoint_in_combinations_of_faults(environment: TauTelecom) -> None:
    sizes = {split: len(environment.tasks(split)) for split in environment.splits}
    assert sizes == {"train": 616, "valid": 76, "test": 156}
    for issue in ("service_issue", "mobile_data_issue", "mms_issue"):
        chosen = [set(faults) for faults in divided(issue).values()]
        assert sum(map(len, chosen)) == len(set.union(*chosen))
        assert {len(faults) for faults in divided(issue)["test"]} <= {3, 5}


def test_experts_and_searchers_win_every_built_in_task_and_doing_nothing_none(
    environment: TauTelecom,
) -> None:
    for split in environment.splits:
        for task in environment.tasks(split):
            assert played(environment, task, environment.expert(task) or []).reward == 1
            assert played(environment, task, environment.demonstrate(task, 7)).reward == 1
            assert played(environment, task, [DONE]).reward == 0


def test_a_careless_searcher_wins_less(environment: TauTelecom) -> None:
    tasks = environment.tasks("test")
    won = [played(environment, task, environment.demonstrate(task, 0, care=0.7)).reward for task in tasks]
    assert 0.2 < sum(won) / len(won) < 0.7


def test_the_end_tells_the_outcome_and_the_benchmarks_reward(environment: TauTelecom) -> None:
    task = environment.tasks("train")[0]
    won = played(environment, task, environment.expert(task) or [])
    assert won.info == {
        **{"outcome": "success", "upstream_reward": 1.0, "mode": "solo", "partial_basis": False},
        "trainable": True,
    }
    lost = played(environment, task, [DONE])
    assert (lost.info["outcome"], lost.info["upstream_reward"]) == ("wrong_state", 0.0)


def test_nothing_counts_after_the_end_and_the_last_turn_truncates(environment: TauTelecom) -> None:
    task = environment.tasks("train")[0]
    late = played(environment, task, [DONE, *(environment.expert(task) or [])])
    assert (late.reward, late.observation.text) == (0, "Error: the episode is over")
    idle = played(environment, task, [call("check_status_bar")] * 60)
    assert (idle.truncated, idle.info["outcome"]) == (True, "budget")


def test_strict_refuses_a_hand_over_of_what_can_be_fixed_and_one_without_a_look() -> None:
    strict, plain = TauTelecom(strict=True), TauTelecom()
    fixable = next(task for task in plain.tasks("train") if not transfers(task))
    plan = [TRANSFER, *(plain.expert(fixable) or [])]
    assert played(plain, fixable, plan).reward == 1
    told = played(strict, fixable, plan)
    assert (told.reward, told.info["outcome"], told.info["upstream_reward"]) == (0, "refused_wrongly", 1.0)
    for task in filter(transfers, plain.tasks("train")):
        assert played(plain, task, [TRANSFER, DONE]).reward == 1
        assert played(strict, task, [TRANSFER, DONE]).info["outcome"] == "missing_evidence"
        assert played(strict, task, strict.expert(task) or []).reward == 1
        assert played(strict, task, strict.demonstrate(task, 0)).reward == 1


@pytest.mark.parametrize("seed", [1, 7])
def test_experts_keep_the_strict_conditions_with_every_seed(seed: int) -> None:
    strict = TauTelecom(strict=True)
    for split in strict.splits:
        for task in strict.tasks(split):
            assert played(strict, task, strict.expert(task) or [], seed).reward == 1, task.id


def test_a_new_bill_has_an_id_by_the_seed_and_a_wrong_one_is_still_seen() -> None:
    strict = TauTelecom(strict=True)
    task = next(task for task in strict.tasks("train") if strict.gold(task).has_seeded_ids)
    assert strict.gold(task, 7).changes["bills"].keys() != strict.gold(task).changes["bills"].keys()
    refuel = next(action for action in task.gold if action.name == "refuel_data")
    whole = call("refuel_data", **{**refuel.arguments, "gb_amount": int(refuel.arguments["gb_amount"])})
    more = call("refuel_data", **{**refuel.arguments, "gb_amount": 2.5})
    right = call("refuel_data", **refuel.arguments)

    def reward(instead: str) -> float:
        plan = [instead if one == right else one for one in strict.expert(task) or []]
        assert instead in plan
        return played(strict, task, plan, 7).reward

    assert [reward(right), reward(whole), reward(more)] == [1, 1, 0]


def test_strict_counts_no_refused_look_and_none_elsewhere() -> None:
    strict = TauTelecom(strict=True)
    for task in filter(transfers, strict.tasks("train")):
        strict.reset(task, 0)
        own = strict.state.own_line_id
        others = [key for key in company().tables["lines"] if key != own]
        bill = next(
            key
            for key, one in company().tables["bills"].items()
            if own not in company().tables["customers"][one["customer_id"]]["line_ids"]
        )
        stranger = company().tables["bills"][bill]["customer_id"]
        looks = [
            call("get_details_by_id", id="L"),
            call("get_details_by_id", id=others[0]),
            call("get_details_by_id", id=bill),
            call("get_bills_for_customer", customer_id=stranger),
            call("get_bills_for_customer", customer_id="nobody"),
            call("get_data_usage", customer_id="x", line_id="y"),
            call("get_data_usage", customer_id=stranger, line_id=own),
        ]
        if not has_set_up(task, "lock_sim_card"):
            looks.append(call("check_sim_status"))
        assert played(strict, task, [*looks, TRANSFER, DONE]).info["outcome"] == "missing_evidence", task.id
        late = [TRANSFER, *(strict.expert(task) or [])]
        assert played(strict, task, late).info["outcome"] == "missing_evidence", task.id


def test_strict_takes_the_line_and_any_bill_of_the_customer_for_a_contract_that_ended() -> None:
    strict = TauTelecom(strict=True)
    task = next(
        task
        for task in strict.tasks("train")
        if transfers(task) and has_set_up(task, "suspend_line_for_overdue_bill")
    )
    arguments = next(one.arguments for one in task.setup if one.function == "suspend_line_for_overdue_bill")
    for look in (
        call("get_details_by_id", id=arguments["line_id"]),
        call("get_details_by_id", id=arguments["new_bill_id"]),
        call("get_bills_for_customer", customer_id=arguments["customer_id"]),
    ):
        assert played(strict, task, [look, TRANSFER, DONE]).reward == 1


def test_a_sim_card_that_is_not_seated_does_not_show_its_lock() -> None:
    strict = TauTelecom(strict=True)
    found = 0
    tasks = [task for split in strict.splits for task in strict.tasks(split)]
    for task in tasks:
        if not has_set_up(task, "unseat_sim_card", "lock_sim_card"):
            continue
        found += 1
        look, reseat = call("check_sim_status"), call("reseat_sim_card")
        assert texts(strict, task, [look]) == ["No SIM card detected in the phone."]
        assert played(strict, task, [look, TRANSFER, DONE]).info["outcome"] == "missing_evidence"
        assert played(strict, task, [reseat, look, TRANSFER, DONE]).reward == 1
    assert found > 0


def test_strict_sees_changes_of_the_company_beyond_the_fix() -> None:
    strict = TauTelecom(strict=True)
    task = next(task for task in strict.tasks("train") if task.gold[0].name == "toggle_airplane_mode")
    owner = texts(
        strict, task, [call("get_customer_by_phone", phone_number=task.setup[0].arguments["phone_number"])]
    )
    customer = json.loads(owner[0])
    extra = call(
        "refuel_data", customer_id=customer["customer_id"], line_id=customer["line_ids"][0], gb_amount=1
    )
    told = played(strict, task, [extra, *(strict.expert(task) or [])])
    assert (told.reward, told.info["outcome"]) == (0, "collateral")


def test_the_policy_can_be_left_out(environment: TauTelecom) -> None:
    task = environment.tasks("train")[0]
    full, short = environment.reset(task, 0), TauTelecom(policy=False).reset(task, 0)
    assert isinstance(full, Observation)
    assert isinstance(short, Observation)
    assert "Transfer to a human agent only" in full.text
    assert short.text == full.text.partition("\n\n")[0] + f"\n\nTicket:\n{task.instruction}"


def test_unknown_names_say_how_the_benchmarks_tasks_come(environment: TauTelecom) -> None:
    with pytest.raises(TaskNotFound, match="agentevol data import tau-telecom DIR"):
        environment.tasks("tau2_test")
    with pytest.raises(TaskNotFound, match="agentevol data import tau-telecom DIR"):
        environment.task("[mms_issue]bad_vpn[PERSONA:None]")
    with pytest.raises(ValueError, match="no user 'scripted'; there are: solo, stub, llm"):
        TauTelecom(user="scripted")


def test_a_task_is_read_back_from_the_benchmarks_form(environment: TauTelecom) -> None:
    task = environment.tasks("test")[3]
    assert tau2_task("tau-telecom", "test", tau2_form(task)) == task.model_copy(
        update={"source": "tau2", "kind": "tau2"}
    )


def test_episodes_leave_the_shared_data_alone(environment: TauTelecom) -> None:
    before = repr(company().tables)
    for task in environment.tasks("test"):
        played(environment, task, environment.expert(task) or [])
    assert repr(company().tables) == before
