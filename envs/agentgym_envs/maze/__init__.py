"""Maze: walk to the goal by position and nearby walls, as AgentGym's environment describes them.

> world = Maze()
> world.reset(world.task("test/7/0/0"), seed=0).text
'The goal is at position 5, 1. Your current position is at position 3, 5. There are walls ...'
"""

from agentgym_envs.maze.environment import Maze, MazeTask

__all__ = ["Maze", "MazeTask"]
