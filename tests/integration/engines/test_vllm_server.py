"""vLLM servers as rollout engine, against one that is made of transformers and does what it is told."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch
from fastapi.responses import JSONResponse, Response
from support.fake_vllm_server import ACTION_TOKENS, FakeServer, processed
from support.tiny_models import END, write_checkpoint

from agentevol.core.errors import ConfigError, PolicyFault, RunStopped
from agentevol.core.protocols import Checkpoint, ContextFull, Conversation, Message, Sampling
from agentevol.engines.interfaces import Sampled
from agentevol.engines.vllm.servers import engine as vllm_server
from agentevol.engines.vllm.servers import protocol
from agentevol.engines.vllm.servers.client import RemoteVllm
from agentevol.engines.vllm.servers.engine import VllmServerEngine
from agentevol.engines.vllm.weights import verification
from agentevol.models.causal_lm import load_model
from agentgym_envs.core import Observation

SAMPLING = Sampling(temperature=1.3, top_p=0.7, max_new_tokens=ACTION_TOKENS)
URL = "http://server:8000"
KEY = "sk-very-secret"


class Waits:
    """Stands in for sleeping: notes how long."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await asyncio.sleep(0)


@pytest.fixture(autouse=True, scope="module")
def short_probes():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verification, "NEW_TOKENS", 4)
        patch.setattr(protocol, "RESET_S", 0.0)
        yield


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("base") / "model")


@pytest.fixture(scope="module")
def shared(folder: Path):
    """A server, and a policy with a key that it serves: for tests that leave both as they were."""
    server = FakeServer(folder)
    engine = VllmServerEngine(
        Checkpoint(folder, 3), [URL], updates=False, key=KEY, transports=[server.transport], pause=Waits()
    )
    yield server, engine.serve(SAMPLING)
    engine.close()


@pytest.fixture
def start(waits: Waits):
    """Starts engines, and ends them with the test."""
    started: list[VllmServerEngine] = []

    def begin(
        checkpoint: Path | Checkpoint, *servers: FakeServer, updates: bool = True, **more: Any
    ) -> VllmServerEngine:
        wanted = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint, 3)
        urls = [f"http://server{number}:8000" for number in range(len(servers))]
        transports = [server.transport for server in servers]
        engine = VllmServerEngine(
            wanted, urls, updates=updates, transports=transports, pause=waits, patience_s=60.0, **more
        )
        started.append(engine)
        return engine

    yield begin
    for engine in started:
        engine.close()


def begin(name: str, length: int = 12) -> Conversation:
    text = " ".join(f"w{(place * 7 + len(name)) % END}" for place in range(length))
    return Conversation(name, [Message("user", text)])


def logprobs_in(path: Path, sample: Any, sampling: Sampling = SAMPLING) -> list[float]:
    """Log-probabilities of the sampled tokens by one pass of transformers over the whole sequence."""
    ids = [*sample.prompt_ids, *sample.token_ids]
    with torch.no_grad():
        logits_TV = load_model(path, "eager")(torch.tensor([ids])).logits[0]
    first, body = (
        len(sample.prompt_ids),
        {"temperature": sampling.temperature, "top_k": 0, "top_p": sampling.top_p},
    )
    return [processed(logits_TV[place - 1], body)[ids[place]].item() for place in range(first, len(ids))]


async def test_an_episode_is_token_exact_and_stays_in_its_session(folder, start):
    server = FakeServer(folder)
    engine = start(folder, server, updates=False)
    policy, conversation = engine.serve(SAMPLING), begin("a")
    for turn in range(3):
        sample = await policy.act(conversation, 7 + turn)
        assert sample.policy_version == 3
        assert sample.logprobs == pytest.approx(logprobs_in(folder, sample), abs=1e-4)
        conversation.say(sample)
        conversation.hear(Observation(text="w1 w2"))
    first, second = conversation.samples[:2]
    assert second.prompt_ids[: len(first.prompt_ids + first.token_ids)] == first.prompt_ids + first.token_ids
    acts = [(body, headers) for body, headers in server.asked if body["max_tokens"] == 6]
    assert len({headers["x-session-id"] for _, headers in acts}) == 1
    body = acts[0][0]
    assert (body["seed"], body["stop_token_ids"], body["ignore_eos"]) == (7, [END], True)
    assert (body["top_k"], body["repetition_penalty"], body["min_p"]) == (0, 1.0, 0.0)  # not the server's own
    assert engine.counts.sampled == sum(len(sample.token_ids) for sample in conversation.samples)


async def test_log_probabilities_of_another_distribution_are_refused_at_the_start(folder, start):
    with pytest.raises(ConfigError, match="start it with --logprobs-mode processed_logprobs"):
        start(folder, FakeServer(folder, mode="raw_logprobs"), updates=False)


@pytest.mark.parametrize("logprobs", [(), (float("nan"),)])
async def test_a_distribution_that_nothing_or_no_number_tells_is_refused_at_the_start(
    folder, start, monkeypatch, logprobs
):
    async def answered(*_: object, **__: object) -> Sampled:
        return Sampled((1,) * len(logprobs), logprobs, "length")

    monkeypatch.setattr(RemoteVllm, "complete", answered)
    with pytest.raises(ConfigError, match=f"over {len(logprobs)} tokens: start it with --logprobs-mode"):
        start(folder, FakeServer(folder), updates=False)


def test_a_server_with_other_weights_is_refused_where_it_is_not_given_ours(folder, start, tmp_path):
    other = write_checkpoint(tmp_path / "other", seed=1)
    with pytest.raises(
        ConfigError, match=r"does not sample with the weights of model .* with this checkpoint"
    ):
        start(folder, FakeServer(other), updates=False)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"version": "0.29.1"}, "is vLLM 0.29.1: it has to be 0.30 or newer"),
        ({"version": None}, "is vLLM None"),
        ({"more": [{"id": "b", "root": "b", "parent": None}]}, "serves 2 models"),
        ({"dev": False}, "start it with the environment variable VLLM_SERVER_DEV_MODE=1"),
        ({"key": KEY}, "401 it refuses the key; engine.api_key_env names"),
        ({"noise": 0.01}, "start it with --dtype float32, or set engine.dtype"),
        ({"sticky": 99}, "its prefix cache still holds"),
    ],
)
def test_a_server_that_a_run_cannot_use_is_refused_in_one_line(folder, start, settings, message):
    with pytest.raises(ConfigError, match=message) as refused:
        start(folder, FakeServer(folder, **settings))
    assert "\n" not in str(refused.value)


async def test_an_evaluation_needs_no_development_mode(folder, start):
    engine = start(folder, FakeServer(folder, dev=False), updates=False)
    assert (await engine.serve(SAMPLING).act(begin("a"), 0)).token_ids
    with pytest.raises(ConfigError, match="serves one set of weights"):
        engine.update(Checkpoint(folder, 4))


def test_a_server_that_knows_fewer_tokens_is_refused(folder, start, tmp_path):
    smaller = write_checkpoint(tmp_path / "smaller", words=40)
    with pytest.raises(ConfigError, match="400 Token id is out of vocabulary"):
        start(folder, FakeServer(smaller), updates=False)


async def test_an_adapter_beside_the_model_is_no_other_model(folder, start):
    more = [{"id": "adapter", "root": "x", "parent": "served"}]
    start(folder, FakeServer(folder, more=more), updates=False)


async def test_the_shortest_window_bounds_a_conversation(folder, start):
    engine = start(folder, FakeServer(folder), FakeServer(folder, window=32), updates=False)
    assert engine.context == 32
    with pytest.raises(ContextFull, match="exceed the context of 32"):
        await engine.serve(SAMPLING).act(begin("a", 40), 0)
    with pytest.raises(ConfigError, match="exceeds the 32 tokens of a server: --max-model-len"):
        start(folder, FakeServer(folder, window=32), updates=False, context=64)


async def test_a_run_gives_servers_its_weights_and_updates_them(folder, start, tmp_path):
    other, third = (write_checkpoint(tmp_path / name, seed=seed) for name, seed in (("b", 1), ("c", 2)))
    server = FakeServer(folder)
    engine = start(Checkpoint(other, 3), server)  # it was started with something else
    before = engine.serve(SAMPLING)
    sample = await before.act(begin("a"), 0)
    assert sample.logprobs == pytest.approx(logprobs_in(other, sample), abs=1e-4)
    await asyncio.to_thread(engine.update, Checkpoint(third, 4))
    sample = await engine.serve(SAMPLING).act(begin("a"), 0)
    assert sample.policy_version == 4
    assert sample.logprobs == pytest.approx(logprobs_in(third, sample), abs=1e-4)
    assert server.loaded == [str(other), str(third)]
    assert server.running.is_set()
    with pytest.raises(PolicyFault, match="replaced by version 4"):
        await before.act(begin("b"), 0)


async def test_a_second_worker_finds_the_weights_in_place(folder, start):
    server = FakeServer(folder)
    start(folder, server)
    second = start(folder, server)
    assert server.loaded == [str(folder)]
    assert (await second.serve(SAMPLING).act(begin("a"), 0)).token_ids


async def test_a_server_that_somebody_left_paused_goes_on(folder, start):
    server = FakeServer(folder)
    start(folder, server).close()
    server.running.clear()  # its worker died between two requests
    engine = start(folder, server)
    assert len(server.loaded) == 2
    assert (await engine.serve(SAMPLING).act(begin("a"), 0)).token_ids


async def test_a_prefix_cache_in_use_is_emptied_when_it_can_be(folder, start):
    server = FakeServer(folder, sticky=2)
    start(folder, server)
    assert server.calls["/reset_prefix_cache"] == 3


async def test_a_server_that_keeps_its_old_weights_stops_the_run(folder, start, tmp_path):
    server = FakeServer(folder)
    engine = start(folder, server)
    server.settings["deaf"] = True
    other = write_checkpoint(tmp_path / "other", seed=1)
    with pytest.raises(RunStopped, match=r"does not sample with the weights of other \(version 4\)"):
        await asyncio.to_thread(engine.update, Checkpoint(other, 4))
    with pytest.raises(PolicyFault, match="does not sample with the weights"):
        await engine.serve(SAMPLING).act(begin("a"), 0)
    assert not engine.lost  # another one would find the same


def test_a_folder_that_the_server_does_not_see_is_named(folder, start):
    server = FakeServer(folder, blind=True)
    with pytest.raises(ConfigError, match=r"it has to see /.*/model under that path"):
        start(folder, server)
    assert server.running.is_set()


async def test_an_update_waits_for_acts_under_way(folder, start, tmp_path):
    server = FakeServer(folder)
    engine = start(folder, server)
    policy = engine.serve(SAMPLING)
    server.running.clear()
    acts = [asyncio.create_task(policy.act(begin(name), 0)) for name in "abc"]
    await asyncio.sleep(0.05)
    other = write_checkpoint(tmp_path / "other", seed=1)
    update = asyncio.create_task(asyncio.to_thread(engine.update, Checkpoint(other, 4)))
    await asyncio.sleep(0.1)
    assert not update.done()
    server.running.set()
    assert {sample.policy_version for sample in await asyncio.gather(*acts)} == {3}
    await update
    with pytest.raises(PolicyFault, match="replaced by version 4"):
        await policy.act(begin("late"), 0)


@pytest.mark.parametrize("tied_server", [True, False])
async def test_tied_checkpoints_are_given_in_the_form_that_the_server_has(start, tmp_path, tied_server):
    tied = write_checkpoint(tmp_path / "tied", tied=True)
    root = tied if tied_server else write_checkpoint(tmp_path / "untied")
    server = FakeServer(root)
    engine = start(tied, server)
    assert (server.loaded == [str(tied)]) == tied_server
    if not tied_server:
        copy = Path(server.loaded[0])
        assert copy.is_relative_to(tmp_path)  # beside the checkpoint, where the server sees it
        assert not copy.parent.exists()  # and gone
    sample = await engine.serve(SAMPLING).act(begin("a"), 0)
    assert sample.logprobs == pytest.approx(logprobs_in(tied, sample), abs=1e-4)


async def test_a_restarted_server_gets_the_weights_again_and_nothing_of_its_own_is_believed(
    folder, start, tmp_path
):
    other = write_checkpoint(tmp_path / "other", seed=1)
    server = FakeServer(folder)
    engine = start(Checkpoint(other, 3), server)
    policy = engine.serve(SAMPLING)
    expected = [await policy.act(begin(name), 5) for name in "abcd"]
    server.start()  # with the folder that it was first started with
    again = await asyncio.gather(*(policy.act(begin(name), 5) for name in "abcd"))
    assert [sample.token_ids for sample in again] == [sample.token_ids for sample in expected]
    assert server.loaded == [str(other), str(other)]
    server.mark = "somebody else's"  # and on the same connection it is not looked at: see the next test
    await policy.act(begin("e"), 5)
    assert len(server.loaded) == 2


async def test_weights_that_somebody_else_changed_are_noticed_on_the_next_connection(folder, start):
    server = FakeServer(folder)
    policy = start(folder, server).serve(SAMPLING)
    server.mark, server.new_connection = "somebody else's", True
    await policy.act(begin("a"), 5)
    assert len(server.loaded) == 2


async def test_a_server_that_came_back_as_another_stops_the_run(folder, start):
    server = FakeServer(folder)
    engine = start(folder, server)
    policy = engine.serve(SAMPLING)
    server.settings["version"] = "0.29.0"
    server.start()
    with pytest.raises(ConfigError, match=r"is vLLM 0\.29\.0"):
        await policy.act(begin("a"), 0)
    with pytest.raises(PolicyFault, match=r"is vLLM 0\.29\.0"):
        await policy.act(begin("b"), 0)
    assert not engine.lost  # another worker would find the same


async def test_two_who_change_the_weights_in_turn_are_told(folder, start):
    server = FakeServer(folder)
    policy = start(folder, server).serve(SAMPLING)
    server.meddlers = 2
    await policy.act(begin("a"), 5)
    server.meddlers = 3
    with pytest.raises(PolicyFault, match="each is for one run at a time"):
        await policy.act(begin("a"), 5)


async def test_a_busy_server_is_waited_for_as_it_asks(folder, start, waits):
    server = FakeServer(folder)
    policy = start(folder, server, updates=False).serve(SAMPLING)
    server.canned.extend(
        [
            lambda: Response(status_code=503, headers={"retry-after": "7"}),
            lambda: JSONResponse({"error": "slow down"}, 429, headers={"retry-after": "2.5"}),
            lambda: Response(status_code=502),
        ]
    )
    assert (await policy.act(begin("a"), 0)).token_ids
    assert waits.seconds[:2] == [7.0, 2.5]
    assert 0 < waits.seconds[2] <= 2


async def test_a_server_that_stays_busy_fails_the_act_in_the_end(folder, start):
    server = FakeServer(folder)
    policy = start(folder, server, updates=False).serve(SAMPLING)
    server.canned.extend([lambda: Response("full", 503, headers={"retry-after": "100"})] * 4)
    with pytest.raises(PolicyFault, match="503 full"):
        await policy.act(begin("a"), 0)
    assert len(server.canned) == 1  # the time of an act has room for two waits


async def test_lost_connections_are_made_again(folder, start, waits):
    server = FakeServer(folder)
    engine = start(folder, server)
    server.refusals = 3
    assert (await engine.serve(SAMPLING).act(begin("a"), 0)).token_ids
    assert len(waits.seconds) == 3
    assert waits.seconds[2] > waits.seconds[0]


async def test_a_server_that_is_away_for_long_fails_the_act_and_then_loses_the_engine(folder, start):
    server = FakeServer(folder)
    engine = start(folder, server)
    policy = engine.serve(SAMPLING)
    server.down = True
    with pytest.raises(PolicyFault, match="connection attempts failed"):
        await policy.act(begin("a"), 0)
    assert not engine.lost
    with pytest.raises(PolicyFault, match="no vLLM server answers any more: http://server0:8000"):
        await policy.act(begin("a"), 0)
    assert engine.lost


async def test_a_server_that_comes_back_in_time_is_used_again(folder, start):
    server = FakeServer(folder)
    engine = start(folder, server)
    policy = engine.serve(SAMPLING)
    server.down = True
    with pytest.raises(PolicyFault):
        await policy.act(begin("a"), 0)
    server.down = False
    server.start()
    assert (await policy.act(begin("a"), 0)).token_ids
    assert len(server.loaded) == 2


def test_no_server_at_all_is_told_at_the_start(folder, start):
    server = FakeServer(folder)
    server.down = True
    with pytest.raises(ConfigError, match=r"engine.url: GET http://server0:8000/version: All connection"):
        start(folder, server)


async def test_no_answer_in_time_fails_the_act_alone(folder, start, monkeypatch):
    server = FakeServer(folder)
    engine = start(folder, server, updates=False)

    def hang() -> None:
        raise httpx.ReadTimeout("")

    transport = engine._servers[0].endpoint._client._transport
    real = transport.handle_async_request

    async def late(request: httpx.Request) -> httpx.Response:
        if server.canned:
            server.canned.popleft()()
        return await real(request)

    monkeypatch.setattr(transport, "handle_async_request", late)
    server.canned.append(hang)
    policy = engine.serve(SAMPLING)
    with pytest.raises(PolicyFault, match="no answer in time"):
        await policy.act(begin("a"), 0)
    assert (await policy.act(begin("a"), 0)).token_ids


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (lambda: JSONResponse({"error": {"message": "The model `x` does not exist."}}, 404), "404 The model"),
        (lambda: JSONResponse({"detail": "engine\ndied"}, 500), "500 engine died"),
        (lambda: JSONResponse({"error": f"wrong key {KEY}"}, 401), "401 it refuses the key"),
        (lambda: JSONResponse({"error": f"what is {KEY}?"}, 400), r"400 what is \*\*\*\?"),
        (lambda: Response("<html>gateway</html>"), "no JSON: '<html>gateway</html>'"),
        (lambda: JSONResponse({"choices": []}), "no completion with tokens"),
        (lambda: JSONResponse([]), "no completion with tokens"),
        (lambda: JSONResponse({"choices": [{"text": "w1"}]}), "no completion with tokens"),
        (lambda: JSONResponse({"choices": [None]}), "no completion with tokens"),
    ],
)
async def test_an_answer_that_is_none_fails_the_act_and_says_why(shared, said, message):
    server, policy = shared
    server.canned.append(said)
    with pytest.raises(PolicyFault, match=message) as fault:
        await policy.act(begin("a"), 0)
    assert KEY not in str(fault.value)
    assert "\n" not in str(fault.value)
    assert (await policy.act(begin("a"), 0)).token_ids  # it is the act alone that failed


def change(path: str, value: Any) -> Callable[[dict[str, Any]], object]:
    """Replaces an entry of a choice."""
    *parents, last = path.split(".")

    def apply(choice: dict[str, Any]) -> None:
        for parent in parents:
            choice = choice[parent]
        choice[last] = value(choice[last]) if callable(value) else value

    return apply


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            change("logprobs.token_logprobs", lambda old: [float("nan"), *old[1:]]),
            "an invalid log-probability",
        ),
        (change("logprobs.token_logprobs", lambda old: [None, *old[1:]]), "an invalid log-probability"),
        (
            change("logprobs.token_logprobs", lambda old: [-9999.0, *old[1:]]),
            "an invalid log-probability",
        ),
        (change("logprobs.token_logprobs", lambda old: [0.5, *old[1:]]), "an invalid log-probability"),
        (change("logprobs.token_logprobs", lambda old: old[:-1]), "tokens with"),
        (change("token_ids", lambda old: old[:-1]), "tokens with"),
        (change("token_ids", lambda old: [61, *old[1:]]), "not among the 61 of the checkpoint"),
        (change("token_ids", lambda old: [-1, *old[1:]]), "not among the 61 of the checkpoint"),
        (change("token_ids", lambda old: ["w1", *old[1:]]), "not among the 61 of the checkpoint"),
        (change("logprobs.tokens", lambda old: ["token_id:7777", *old[1:]]), "of other tokens"),
        (change("prompt_token_ids", lambda old: old[1:]), "did not read the tokens that it was given"),
        (change("finish_reason", "abort"), "sampling ended by 'abort'"),
        (change("finish_reason", None), "sampling ended by None"),
        (change("finish_reason", "stop"), "stopped at no token that ends an action"),
        (change("logprobs", None), "no completion with tokens"),
        (change("token_ids", None), "no completion with tokens"),
    ],
)
async def test_what_is_not_whole_exact_and_finite_fails_the_act(shared, monkeypatch, spoil, message):
    server, policy = shared
    seed = next(seed for seed in range(99) if server_ends_by_length(server, seed))
    monkeypatch.setattr(server, "spoil", spoil)
    with pytest.raises(PolicyFault, match=message):
        await policy.act(begin("a"), seed)


def server_ends_by_length(server: FakeServer, seed: int) -> bool:
    body = {"prompt": [(place * 7 + 1) % END for place in range(12)] + [60], "max_tokens": 6, "top_k": 0}
    body |= {"temperature": 1.3, "top_p": 0.7, "seed": seed, "stop_token_ids": [END]}
    return server.sample(body)["finish_reason"] == "length"


async def test_fewer_tokens_than_asked_for_are_no_end_of_an_action(folder, start):
    server = FakeServer(folder)
    policy = start(folder, server, updates=False).serve(SAMPLING)

    def cut(choice: dict[str, Any]) -> None:
        choice["finish_reason"] = "length"
        choice["token_ids"] = choice["token_ids"][:2]
        choice["logprobs"] = {name: values[:2] for name, values in choice["logprobs"].items()}

    server.spoil = cut
    with pytest.raises(PolicyFault, match="2 tokens where 6 were asked for"):
        await policy.act(begin("a"), 0)


async def test_conversations_stay_where_they_began_and_new_ones_go_where_the_fewest_are(folder, start):
    one, two = FakeServer(folder), FakeServer(folder)
    policy = start(folder, one, two).serve(SAMPLING)
    conversations = [begin(f"c{number}") for number in range(6)]
    for turn in range(3):
        for conversation in conversations:
            conversation.say(await policy.act(conversation, turn))
            conversation.hear(Observation(text="w3"))
    sessions = [
        {headers["x-session-id"] for body, headers in server.asked if body["max_tokens"] == 6}
        for server in (one, two)
    ]
    assert [len(found) for found in sessions] == [3, 3]
    assert not sessions[0] & sessions[1]
    for conversation in conversations[:2]:  # one of each server
        policy.release(conversation.id)
    policy.release(conversations[2].id)
    await policy.act(begin("new"), 0)
    assert one.asked[-1][1]["x-session-id"] not in sessions[0] | sessions[1]


async def test_one_of_two_servers_may_go_and_come_back(folder, start, monkeypatch):
    monkeypatch.setattr(vllm_server, "LOOK_AGAIN_S", 0.0)
    one, two = FakeServer(folder), FakeServer(folder)
    engine = start(folder, one, two)
    policy = engine.serve(SAMPLING)
    conversation = begin("a")
    conversation.say(await policy.act(conversation, 0))
    conversation.hear(Observation(text="w3"))
    one.down = True
    with pytest.raises(PolicyFault):
        await policy.act(conversation, 1)
    assert (await policy.act(conversation, 1)).token_ids  # by the other one
    assert not engine.lost
    one.down = False
    one.start()
    for number in range(50):
        await policy.act(begin(f"b{number}"), 0)
        if len(one.loaded) == 2 and one.asked[-1][0]["max_tokens"] == 6:
            break
        await asyncio.sleep(0.02)
    assert one.asked[-1][0]["max_tokens"] == 6


async def test_an_update_goes_on_without_a_server_that_is_away(folder, start, tmp_path):
    one, two = FakeServer(folder), FakeServer(folder)
    engine = start(folder, one, two)
    other = write_checkpoint(tmp_path / "other", seed=1)
    one.down = True
    await asyncio.to_thread(engine.update, Checkpoint(other, 4))
    assert (await engine.serve(SAMPLING).act(begin("a"), 0)).policy_version == 4
    two.down = True
    with pytest.raises(PolicyFault, match="no vLLM server answers"):
        await asyncio.to_thread(engine.update, Checkpoint(folder, 5))
    assert engine.lost


async def test_a_release_ends_the_act_and_a_cancelled_one_leaves_nothing(folder, start):
    server = FakeServer(folder)
    engine = start(folder, server)
    policy = engine.serve(SAMPLING)
    server.running.clear()
    released, cancelled = (asyncio.create_task(policy.act(begin(name), 0)) for name in ("a", "b"))
    await asyncio.sleep(0.05)
    with pytest.raises(PolicyFault, match="has two calls at once"):
        await policy.act(begin("a"), 0)
    policy.release("a")
    policy.release("unknown")
    with pytest.raises(PolicyFault, match="released while it acted"):
        await released
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    server.running.set()
    assert (await policy.act(begin("b"), 0)).token_ids
    assert not engine._acting


async def test_a_closed_engine_says_so(folder, start):
    server = FakeServer(folder)
    engine = start(folder, server)
    policy = engine.serve(SAMPLING)
    server.running.clear()
    act = asyncio.create_task(policy.act(begin("a"), 0))
    await asyncio.sleep(0.05)
    await asyncio.to_thread(engine.close)
    engine.close()
    with pytest.raises(PolicyFault, match="the engine is closed"):
        await act
    with pytest.raises(PolicyFault, match="the engine is closed"):
        await policy.act(begin("a"), 0)
    policy.release("a")


async def test_the_key_is_sent_and_not_shown(folder, start, caplog):
    caplog.set_level("DEBUG")
    server = FakeServer(folder, key=KEY)
    engine = start(folder, server, key=KEY)
    await engine.serve(SAMPLING).act(begin("a"), 0)
    assert server.asked[-1][1]["authorization"] == f"Bearer {KEY}"
    assert KEY not in caplog.text


async def test_weights_that_fail_on_the_way_for_whatever_reason_end_the_engine(folder, start, monkeypatch):
    """It has the new version's label by then, and weights that nobody knows."""
    engine = start(folder, FakeServer(folder))
    policy = engine.serve(SAMPLING)

    async def broken(*_: object) -> None:
        raise KeyError("a bug on the way")

    monkeypatch.setattr(engine, "_renew", broken)
    with pytest.raises(KeyError):
        await asyncio.to_thread(engine.update, Checkpoint(folder, 4))
    assert engine.lost
    for one in (policy, engine.serve(SAMPLING)):
        with pytest.raises(PolicyFault, match="loading the weights of model failed: 'a bug on the way'"):
            await one.act(begin("a"), 0)
