"""Search engine: Lucene's ranking in Anserini's setup for English, an analyser and BM25 with one-byte
lengths.
"""
