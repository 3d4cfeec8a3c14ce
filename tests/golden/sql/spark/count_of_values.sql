-- the rows that are kept
SELECT `patient_id`, `ward` FROM (SELECT *, row_number() OVER (PARTITION BY `patient_id` ORDER BY xxhash64(`patient_id` IS NULL, `patient_id`, `ward` IS NULL, `ward`, (7L)), `ward` NULLS LAST) AS discreet_row_rank FROM (SELECT * FROM (SELECT `patient_id` AS `patient_id`, `ward` AS `ward` FROM source) AS scanned WHERE `patient_id` IS NOT NULL) AS rows) AS ranked WHERE discreet_row_rank <= 10;
-- the answer
SELECT count(DISTINCT CASE WHEN `ward` IN ('A', 'B', CAST(X'69742773' AS STRING)) THEN `ward` END) AS m0 FROM (SELECT * FROM kept) AS kept;
