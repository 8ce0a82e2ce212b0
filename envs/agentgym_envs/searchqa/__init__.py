"""SearchQA: questions of one to four hops, answered by searching passages.

> world = SearchQA()
> world.reset(world.task("test/2/0"), seed=0).text.splitlines()[-1]
'Question: What is the employer of the mayor of Satodon?'
> world.step("<think>I look it up.</think> <search>Satodon</search>").observation.text
'<information>Doc 1(Title: Satodon) Satodon is led by Bruza Yistott. ...</information>'
"""

from typing import TYPE_CHECKING

from agentgym_envs.lazy_imports import lazy_names

if TYPE_CHECKING:
    from agentgym_envs.searchqa.environment import SearchQA, SearchQATask
else:  # the index needs numpy, which is an extra
    __getattr__, __dir__ = lazy_names(
        __name__,
        {name: f"agentgym_envs.searchqa.environment:{name}" for name in ("SearchQA", "SearchQATask")},
        extra="searchqa",
    )

__all__ = ["SearchQA", "SearchQATask"]
