"""Engine of the package `sotopia` 0.1.5: a program for an interpreter that has it; imports nothing of ours.

`python -I engine.py` reads one JSON request a line, and answers each with one line: `{"ok": ...}` or
`{"error": {"kind": ..., "message": ...}}`. The first line it writes is `{"ok": {"sotopia": VERSION, ...}}`.
The environment variable SOTOPIA_STORAGE_BACKEND must be `local`, and HOME a folder that may be written to.

Environment, agents, evaluators and the loop of an episode are the package's. Repaired are: the order of
action types, which the package draws from a set; rewards, which it reports as 0; scores, which it gives to
agents in the order of the reply; a judge that fails, which it ignores; and a step after the end.
"""

import asyncio
import json
import os
import platform
import queue
import random
import sys
import threading
import time
from hashlib import sha256
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

# The package prints to standard output, where our replies go: it gets standard error instead.
REPLIES = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)


def answer(reply: dict[str, Any]) -> None:
    """Write one line."""
    REPLIES.write(json.dumps(reply) + "\n")
    REPLIES.flush()


def fault(kind: str, error: BaseException) -> dict[str, Any]:
    """An error as a reply."""
    return {"error": {"kind": kind, "message": f"{type(error).__name__}: {error}"}}


try:
    import sotopia.generation_utils.generate as generation
    from litellm import acompletion
    from pydantic import model_validator
    from sotopia.agents import Agents, LLMAgent
    from sotopia.database import AgentProfile, EnvironmentProfile, EpisodeLog, SotopiaDimensions
    from sotopia.envs import ParallelSotopiaEnv
    from sotopia.envs.evaluators import (
        EpisodeLLMEvaluator,
        EvaluationForAgents,
        RuleBasedTerminatedEvaluator,
        unweighted_aggregate_evaluate,
    )
    from sotopia.messages import AgentAction
    from sotopia.server import arun_one_episode
except ImportError as absent:
    answer(fault("missing", absent))
    sys.exit(3)

ACTION_TYPES = ["none", "speak", "non-verbal communication", "action", "leave"]
SCORES = 14
"""Seven dimensions of two agents."""
NOWHERE = "http://agent.invalid/v1"
"""Base address in the names of models whose replies come from a script."""
LEAVE = ["leave", ""]
"""Action of a seat whose script is at its end."""


class JudgeFailed(Exception):
    """The judge gave no complete judgement, or could not be reached."""


class EndpointFailed(Exception):
    """An endpoint failed; the package would go on with an action `none`."""


class RequestRefused(Exception):
    """A request that the package cannot play."""


class Keyed(EvaluationForAgents[SotopiaDimensions]):  # noqa: D101  it would be part of the judge's prompt
    @model_validator(mode="after")
    def by_key(self) -> "Keyed":
        """Sort by key: the package gives scores to agents in this order."""
        if set(self.evaluations) != {"agent_1", "agent_2"}:
            raise ValueError(f"evaluations of {', '.join(self.evaluations)}, not of agent_1 and agent_2")
        self.evaluations = dict(sorted(self.evaluations.items()))
        return self


SCHEMAS = {"keyed": Keyed, "package": EvaluationForAgents[SotopiaDimensions]}
"""Classes of a judgement. The class's name is the title of the schema in the judge's prompt."""


class Judge(EpisodeLLMEvaluator[SotopiaDimensions]):
    """The package's judge, which raises where the package would have no scores."""

    def __init__(self, model_name: str, schema: str) -> None:
        super().__init__(model_name, SCHEMAS[schema])
        self.responses: list[Any] = []

    async def __acall__(self, turn_number: int, messages: Any, **_: Any) -> Any:
        """Scores of both agents; raises `JudgeFailed`."""
        self.responses = await super().__acall__(turn_number=turn_number, messages=messages)
        if len(self.responses) != SCORES:
            raise JudgeFailed(f"{len(self.responses)} scores, not {SCORES}")
        return self.responses

    def rates(self) -> list[Any]:
        """Overall score and scores by dimension of each agent."""
        both = unweighted_aggregate_evaluate(self.responses)
        return [both.p1_rate, both.p2_rate]


class Environment(ParallelSotopiaEnv):
    """The package's environment with its repairs; keeps a record of each step."""

    def __init__(self, request: dict[str, Any], judge: Judge | None) -> None:
        super().__init__(
            action_order=request["order"],
            evaluators=[RuleBasedTerminatedEvaluator(request["max_turns"], request["max_stale"])],
            terminal_evaluators=[] if judge is None else [judge],
            model_name="env-model",
            env_profile=EnvironmentProfile(**request["environment"]),
        )
        self.available_action_types = list(ACTION_TYPES)
        self.judge, self.view = judge, request["view"]
        self.ended = False
        self.start: dict[str, Any] = {}
        self.steps: list[dict[str, Any]] = []

    def reset(self, *_: Any, agents: Any = None, **__: Any) -> Any:
        """Start an episode in the view of the request."""
        found = super().reset(agents=agents, omniscient=self.view == "omniscient", lite=self.view == "lite")
        self.ended, self.steps = False, []
        texts = [found[name].last_turn for name in self.agents]
        self.start = {"reset_obs": texts, "reset_acting": list(self.action_mask)}
        return found

    async def astep(self, actions: Any) -> Any:
        """One step; raises after the end."""
        if self.ended:
            raise RequestRefused("a step after the end")
        acting = list(self.action_mask)
        found, rewards, terminated, truncated, info = await super().astep(actions)
        self.ended = all(terminated.values())
        self._record(acting, found, info)
        if self.ended and self.judge is not None:
            for name, rate in zip(self.agents, self.judge.rates(), strict=True):
                rewards[name] = rate[0]
                info[name]["complete_rating"] = rate
        return found, rewards, terminated, truncated, info

    def _record(self, acting: list[bool], found: Any, info: Any) -> None:
        step: dict[str, Any] = {
            "turn": self.turn_number,
            "acting": acting,
            "actions": [[action.action_type, action.argument] for _, action in self.inbox[-2:]],
            "obs": [found[name].last_turn for name in self.agents],
            "may_act_next": list(self.action_mask),
            "terminated": self.ended,
            "comments": None if self.ended else info[self.agents[0]]["comments"],
        }
        if self.turn_number == 1:
            step["available_actions"] = [list(found[name].available_actions) for name in self.agents]
        self.steps.append(step)


class Models:
    """Replies to the package's model calls, from scripts or from an endpoint; keeps the prompts."""

    def __init__(self, request: dict[str, Any], environment: Environment) -> None:
        self.environment = environment
        self.endpoint: str | None = request["endpoint"]
        self.scripts = [iter(script) for script in request["script"]]
        self.judgements = iter(request["judge_replies"])
        self.prompts: list[dict[str, Any]] = []
        self.last_prompt: dict[str, str] = {}
        self.judged: list[tuple[str, str]] = []
        """Prompt and reply of each call of the judge; more than one where the package asks for a repair."""
        self.failure = ""

    def name(self, who: str) -> str:
        """The package's name of a model: `agent0`, `agent1`, `judge`."""
        return f"custom/{who}@{self.endpoint or NOWHERE}"

    async def __call__(self, **call: Any) -> Any:
        """In place of `litellm.acompletion`."""
        who = call["model"].removeprefix("openai/")
        prompt = call["messages"][0]["content"]
        if who != "judge":
            self._keep(int(who.removeprefix("agent")), prompt)
        try:
            reply = await acompletion(**call) if self.endpoint else self._scripted(who)
        except Exception as error:
            self.failure = self.failure or f"{who}: {type(error).__name__}: {error}"
            raise
        if who == "judge":
            self.judged.append((prompt, reply.choices[0].message.content))
        return reply

    def _keep(self, seat: int, prompt: str) -> None:
        digest, turn = sha256(prompt.encode()).hexdigest(), self.environment.turn_number
        self.prompts.append({"agent": seat, "turn_number": turn, "sha256": digest, "chars": len(prompt)})
        self.last_prompt[str(seat)] = prompt

    def _scripted(self, who: str) -> Any:
        if who == "judge":
            content = next(self.judgements, None)
            if content is None:
                raise RequestRefused("the judge has no further reply")
        else:
            kind, argument = next(self.scripts[int(who.removeprefix("agent"))], LEAVE)
            content = json.dumps({"action_type": kind, "argument": argument})
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=content))])


def characters(request: dict[str, Any], models: list[str]) -> list[Any]:
    """The two agents; raises `RequestRefused` for equal names, which are one agent to the package."""
    agents = [
        LLMAgent(agent_profile=AgentProfile(**profile), model_name=model)
        for profile, model in zip(request["agents"], models, strict=True)
    ]
    if agents[0].agent_name == agents[1].agent_name:
        raise RequestRefused(f"both characters are called {agents[0].agent_name}")
    return agents


async def play(request: dict[str, Any]) -> dict[str, Any]:
    """Play one episode; gives its record."""
    judge = Judge(f"custom/judge@{request['endpoint'] or NOWHERE}", request["judge_schema"])
    environment = Environment(request, judge)
    models = Models(request, environment)
    agents = characters(request, [models.name("agent0"), models.name("agent1")])
    generation.acompletion = models
    random.seed(request["seed"])
    try:
        await arun_one_episode(
            env=environment, agent_list=agents, tag=request["tag"], push_to_db=True, episode_pk=request["id"]
        )
    except JudgeFailed as error:
        raise JudgeFailed(f"{error}; {models.failure}" if models.failure else str(error)) from error
    finally:
        generation.acompletion = acompletion
    if models.failure:
        raise EndpointFailed(models.failure)
    log = EpisodeLog.get(pk=request["id"])
    EpisodeLog.delete(request["id"])
    return record(request, environment, models, log.model_dump(mode="json"))


def record(
    request: dict[str, Any], environment: Environment, models: Models, log: dict[str, Any]
) -> dict[str, Any]:
    """The record of an episode after its end."""
    profile, (judge_prompt, judge_reply) = environment.profile, models.judged[0]
    rates = dict(zip(environment.agents, log["rewards"], strict=True))
    return {
        "id": request["id"],
        "env_id": profile.pk,
        "agent_ids": log["agents"],
        "codename": profile.codename,
        "source": profile.source,
        "names": list(environment.agents),
        "seed": request["seed"],
        "action_order": request["order"],
        "max_turn_number": request["max_turns"],
        "max_stale_turn": request["max_stale"],
        "omniscient": request["view"] == "omniscient",
        "script": request["script"],
        **environment.start,
        "steps": environment.steps,
        "n_steps": len(environment.steps),
        "terminated": environment.ended,
        "reasons": log["reasoning"].split("\n")[0],
        "prompts": models.prompts,
        "last_prompt": models.last_prompt,
        "judge_prompt": judge_prompt,
        "judge_prompt_sha256": sha256(judge_prompt.encode()).hexdigest(),
        "judge_reply": judge_reply,
        "rewards": {name: rate[0] for name, rate in rates.items()},
        "dimensions": {name: rate[1] for name, rate in rates.items()},
        "episode_log": log,
    }


async def episode(request: dict[str, Any]) -> dict[str, Any]:
    """Play an episode; gives its record and the seconds that it took."""
    began = time.perf_counter()
    found = await play(request)
    return {"record": found, "seconds": time.perf_counter() - began}


async def views(request: dict[str, Any]) -> dict[str, Any]:
    """Texts that both seats and the judge read first."""
    environment = Environment(request, None)
    agents = characters(request, ["", ""])
    environment.reset(agents=Agents({agent.agent_name: agent for agent in agents}))
    return {**environment.start, "judge": environment.background.to_natural_language()}


async def speed(request: dict[str, Any]) -> dict[str, Any]:
    """Play a script again and again by the package's `step`, with neither prompts nor a judge."""
    environment = Environment(request, None)
    agents = Agents({agent.agent_name: agent for agent in characters(request, ["", ""])})
    scripts = [
        [AgentAction(action_type=kind, argument=argument) for kind, argument in script]
        for script in request["script"]
    ]
    steps, began = 0, time.perf_counter()
    for _ in range(request["episodes"]):
        environment.reset(agents=agents)
        waiting = [iter(script) for script in scripts]
        ended = False
        while not ended:
            actions = {
                name: next(waiting[seat], AgentAction(action_type="leave", argument=""))
                for seat, name in enumerate(environment.agents)
                if environment.action_mask[seat]
            }
            _, _, terminated, _, _ = environment.step(
                {name: actions.get(name, AgentAction(action_type="none", argument="")) for name in agents}
            )
            steps, ended = steps + 1, all(terminated.values())
    return {"steps": steps, "seconds": time.perf_counter() - began}


KINDS = {"episode": episode, "views": views, "speed": speed}
FAULTS = {JudgeFailed: "judge", EndpointFailed: "endpoint", RequestRefused: "request"}


def respond(loop: asyncio.AbstractEventLoop, line: str) -> dict[str, Any]:
    """The reply to a request."""
    try:
        request = json.loads(line)
        return {"ok": loop.run_until_complete(KINDS[request["kind"]](request))}
    except Exception as error:  # noqa: BLE001  it goes to the one who asked
        return fault(FAULTS.get(type(error), "package"), error)


def main() -> None:
    """Answer requests until standard input ends, also in the middle of one."""
    answer(
        {
            "ok": {
                "sotopia": version("sotopia"),
                "litellm": version("litellm"),
                "python": platform.python_version(),
            }
        }
    )
    lines: queue.Queue[str] = queue.Queue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line)
        os._exit(0)  # whoever asked is gone

    threading.Thread(target=read, daemon=True).start()
    generation.log.setLevel("WARNING")  # it would print every reply
    loop = asyncio.new_event_loop()  # one for all requests: after a call of litellm 1.80 closing it may hang
    while True:
        answer(respond(loop, lines.get()))


if __name__ == "__main__":
    main()
