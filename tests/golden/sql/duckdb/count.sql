-- the rows that are kept
SELECT "patient_id" FROM (SELECT *, row_number() OVER (PARTITION BY "patient_id") AS discreet_row_rank FROM (SELECT * FROM (SELECT "patient_id" AS "patient_id" FROM source) AS scanned WHERE "patient_id" IS NOT NULL) AS rows) AS ranked WHERE discreet_row_rank <= 10;
-- the answer
SELECT count(*) AS m0 FROM (SELECT * FROM kept) AS kept;
