"""WebShop (arXiv:2207.01206) as a text state machine, without Java or HTML.

So far its products, its search engine, which ranks as Lucene does, its pages, goals and rewards: the
environment that is made of them is not there yet.
"""
