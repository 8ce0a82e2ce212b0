"""WebShop (arXiv:2207.01206) as a text state machine, without Java or HTML.

So far its products and its search engine, which ranks as Lucene does: there is no environment here yet.
"""
