-- the rows that are kept
SELECT "patient_id", "ward" FROM (SELECT *, row_number() OVER (PARTITION BY "patient_id" ORDER BY hash("patient_id", "ward", 7::UBIGINT), "ward") AS discreet_row_rank FROM (SELECT * FROM (SELECT TRY_CAST("patient_id" AS VARCHAR) AS "patient_id", TRY_CAST("ward" AS VARCHAR) AS "ward" FROM source) AS scanned WHERE "patient_id" IS NOT NULL) AS rows) AS ranked WHERE discreet_row_rank <= 10;
-- the answer
SELECT count(DISTINCT CASE WHEN "ward" IN ('A', 'B', 'it''s') THEN "ward" END) AS m0 FROM (SELECT * FROM kept) AS kept;
