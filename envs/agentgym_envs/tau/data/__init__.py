"""Data of the tau domains: a folder's files, the imported library, and the sources of tasks.

Names for other packages: `Domain`, `ImportedData`, `TaskSource`, `import_domain`.
"""

from agentgym_envs.tau.data.domain import Domain, TaskSource
from agentgym_envs.tau.data.importing import import_domain
from agentgym_envs.tau.data.library import ImportedData

__all__ = ["Domain", "ImportedData", "TaskSource", "import_domain"]
