"""SQL that all engines share: one emitter, total casts, contribution bounding and integer aggregates."""
