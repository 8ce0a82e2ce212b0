"""WebShop: find what an instruction asks for, choose its options and buy it, as the original answers."""

from agentgym_envs.webshop.environment import WebShop

__all__ = ["WebShop"]
