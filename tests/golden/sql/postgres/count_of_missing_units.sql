-- the rows that are kept
SELECT "patient_id" FROM (SELECT (coalesce(hashtextextended("patient_id", bigint '7'), 0)) AS discreet_row_hash, *, row_number() OVER (PARTITION BY "patient_id") AS discreet_row_rank FROM (SELECT "patient_id" AS "patient_id" FROM source) AS rows) AS ranked WHERE discreet_row_rank <= 10;
-- the answer
SELECT count(DISTINCT row("patient_id")) AS m0 FROM (SELECT * FROM kept) AS kept;
