"""Search engine: Lucene's ranking in Anserini's setup for English, an analyser and BM25 with one-byte
lengths.

Names for other packages: `analyzer.analyzed`, `bm25.Index`, `building.Analysis`, `building.Builder`,
`flat.Files`, `flat.mapped`, `keys.bounds`, `keys.decoded`, `keys.encoded`, `keys.grouped`, `keys.Groups`,
`keys.Keys`, `manifest.Flat`, `stored.StoredIndex`.
"""
