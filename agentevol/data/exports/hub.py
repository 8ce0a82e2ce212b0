"""Upload of a data set to the Hugging Face hub, where a user asks for it."""

from pathlib import Path

from agentevol.core.errors import ConfigError, one_line


def push(folder: Path, repository: str) -> str:
    """Upload the folder of an export to a data set of the hub, a private one if it is new; its address.

    The token is that of `hf auth login`, or `HF_TOKEN`. Raises `ConfigError`.
    """
    from httpx import HTTPError
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    hub = HfApi()
    try:
        hub.create_repo(repository, repo_type="dataset", private=True, exist_ok=True)
        done = hub.upload_folder(repo_id=repository, folder_path=folder, repo_type="dataset")
    except (HfHubHTTPError, HFValidationError, HTTPError, OSError) as cause:
        raise ConfigError(
            f"cannot upload to {repository}: {one_line(cause)}; the data set is complete in {folder}"
        ) from cause
    return str(done)
