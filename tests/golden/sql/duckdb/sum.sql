-- the rows that are kept
SELECT "age", "patient_id", CASE WHEN "age" < 0 THEN 0 WHEN "age" > 120 THEN 120 ELSE "age" END AS discreet_steps0 FROM (SELECT *, row_number() OVER (PARTITION BY "patient_id" ORDER BY hash("age", "patient_id", 7::UBIGINT), "age") AS discreet_row_rank FROM (SELECT * FROM (SELECT TRY_CAST("age" AS BIGINT) AS "age", TRY_CAST("patient_id" AS VARCHAR) AS "patient_id" FROM source) AS scanned WHERE "patient_id" IS NOT NULL) AS rows) AS ranked WHERE discreet_row_rank <= 10;
-- the answer
SELECT coalesce(sum(discreet_steps0), 0) AS m0 FROM (SELECT * FROM kept WHERE ("age" >= 40)) AS kept;
