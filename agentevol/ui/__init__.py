"""Web pages of `agentevol ui`: runs, episodes, the reader of an episode, comparisons, and the
playground.

`app` puts the pages together and `guard` protects them; `library` finds the runs and tables under the given
paths. Each group of pages is a package with its `routes` and the functions that turn data into what a
template shows. All pages are rendered on the server.

Names for other packages: `serve.serve`.
"""
