-- the rows that are kept
SELECT * FROM (SELECT `patient_id` AS `patient_id` FROM source) AS scanned WHERE `patient_id` IS NOT NULL;
-- the answer
SELECT count(DISTINCT `patient_id`) AS m0 FROM (SELECT * FROM kept) AS kept;
