"""AgentGym's five environments of tools, re-created offline on generated data.

    weather   places, their history and forecasts
    movie     films and people
    academia  a net of papers and one of authors
    todo      projects and tasks, which change
    sheet     a table, which changes

Tools have the names and arguments that AgentGym's have, and their results look alike; the data are generated,
so that figures are of `agentgym-offline/NAME`, and not comparable with AgentGym's.

answers    typed comparison            drafts   question forms and how they are solved
rendering  observations as text        tasks    generation of tasks from drafts
environment                            player   demonstrations
"""
