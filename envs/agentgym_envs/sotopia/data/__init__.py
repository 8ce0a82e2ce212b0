"""Published profiles and recorded episodes of Sotopia, imported from files; none are shipped.

| module | what it holds |
|---|---|
| `profile_set` | environments, agents and their combinations: `ProfileSet`, `SotopiaDataError` |
| `sources` | files of profiles in the published layouts: `read_profiles` |
| `importing` | `agentevol data import sotopia DIR`: `import_official`, `counts`, `verify` |
| `library` | imported profiles: `Catalogue` |
| `episodes` | recorded episodes: `RecordedEpisode`, `read_episodes` |
| `replay` | recorded episodes, played again: `replay` |

Names for other packages: `episodes.FORMS`, `episodes.RecordedEpisode`, `episodes.read_episode`,
`episodes.read_episodes`, `library.Catalogue`, `profile_set.HARD`, `profile_set.JUDGED`,
`profile_set.PREFIX`, `profile_set.ProfileSet`, `profile_set.SotopiaDataError`, `profile_set.VERIFIABLE`,
`sources.read_profiles`.
"""
