"""Backends of a gateway: discovery, health, transport, queues and delivery of requests.

Names for other packages: `delivery.Delivery`, `delivery.DeliveryRequest`, `delivery.Homes`,
`discovery.Source`, `discovery.parsed`, `fleet.Backend`, `fleet.Fleet`, `fleet.LOST_TEXT`,
`health.HealthPoller`, `queues.Queues`, `upstream.Closed`, `upstream.HttpUpstream`, `upstream.Lost`,
`upstream.Refused`, `upstream.Socket`, `upstream.Undelivered`, `upstream.Upstream`, `upstream.target_of`.
"""
