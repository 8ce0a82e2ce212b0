"""Judge service: judgements of conversations and transcripts over HTTP.

| module | what it holds |
|---|---|
| `serve` | its start and end: `serve` |
| `app` | routes, and cancellation of requests whose callers have gone: `application` |
| `service` | judgement of requests: `JudgeService` |
| `bodies` | bodies of requests and replies |
| `metrics` | its counters, for Prometheus |
| `settings` | limits: `JudgeSettings` |

Names for other packages: `serve.serve`, `settings.BODY_BYTES`, `settings.JudgeSettings`.
"""
