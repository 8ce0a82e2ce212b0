"""Lucene's ranking as Anserini sets it up for English: the analyzer, and BM25 with lengths of one byte."""
