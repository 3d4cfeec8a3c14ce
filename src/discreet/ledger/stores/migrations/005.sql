-- Other releases: one more kind of event, which costs nothing, and an index that finds the few among all events.

ALTER TABLE discreet.events
  DROP CONSTRAINT events_kind_check,
  ADD CONSTRAINT events_kind_check CHECK (
    kind IN (
      'REGISTERED', 'VERSIONED', 'RENAMED', 'CAPPED', 'LIMITED', 'REJECTED', 'RESERVED', 'RESUMED', 'ANSWERED',
      'FORFEITED', 'RECOVERED', 'PUBLISHED'
    )
  );

CREATE INDEX other_releases ON discreet.events (dataset, sequence) WHERE kind = 'PUBLISHED';
