"""Wire format: strict JSON, request models, replies and problems.

Names for other packages: `problems.ECHO_LIMIT`, `problems.KINDS`, `problems.PREFIX`, `problems.Problem`,
`problems.clipped`, `problems.internal_problem`, `reply.Headers`, `reply.JSON`, `reply.PROBLEM_JSON`,
`reply.REPLAY`, `reply.Reply`, `reply.json_reply`, `reply.problem_reply`, `requests.BatchRequest`,
`requests.Body`, `requests.CreateRequest`, `requests.ForkRequest`, `requests.LabelText`,
`requests.LeaseRequest`, `requests.MAX_ERRORS`, `requests.Omittable`, `requests.Step`, `requests.StepRequest`,
`requests.absent`, `requests.invalid`, `requests.step_request`, `requests.validated`, `strict_json`.
"""
