"""WebShop (arXiv:2207.01206) as a text state machine, without Java or HTML.

So far its products, its search engine, which ranks as Lucene does, and its pages: rewards, goals and with
them the environment are not there yet.
"""
