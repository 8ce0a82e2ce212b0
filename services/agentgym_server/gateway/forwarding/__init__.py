"""Forwarding: requests, WebSockets and operations passed to the backend of their session.

Names for other packages: `dispatcher.Dispatcher`, `dispatcher.HttpChannels`, `dispatcher.SocketChannels`,
`proxy.Proxy`.
"""
