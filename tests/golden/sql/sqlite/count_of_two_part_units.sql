-- the rows that are kept
SELECT `hospital`, `patient_id` FROM (SELECT *, row_number() OVER (PARTITION BY CASE WHEN `hospital` IS NOT NULL AND `patient_id` IS NOT NULL THEN `hospital` END, CASE WHEN `hospital` IS NOT NULL AND `patient_id` IS NOT NULL THEN `patient_id` END ORDER BY md5('7', `hospital`, `patient_id`), `hospital` NULLS LAST, `patient_id` NULLS LAST) AS discreet_row_rank FROM (SELECT CAST(`hospital` AS BIGINT) AS `hospital`, `patient_id` AS `patient_id` FROM source) AS rows) AS ranked WHERE discreet_row_rank <= 2;
-- the answer
SELECT count(DISTINCT row(CASE WHEN `hospital` IS NOT NULL AND `patient_id` IS NOT NULL THEN `hospital` END, CASE WHEN `hospital` IS NOT NULL AND `patient_id` IS NOT NULL THEN `patient_id` END)) AS m0, count(*) AS m1 FROM (SELECT * FROM kept) AS kept;
