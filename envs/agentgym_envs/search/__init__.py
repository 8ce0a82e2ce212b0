"""Search engine: Lucene's ranking in Anserini's setup for English, an analyser and BM25 with one-byte
lengths.

Names for other packages: `analyzer.analyzed`, `bm25.Index`, `building.Analysis`, `building.Builder`,
`keys.Groups`, `keys.Keys`, `keys.bounds`, `keys.decoded`, `keys.encoded`, `keys.grouped`,
`stored.StoredIndex`.
"""
