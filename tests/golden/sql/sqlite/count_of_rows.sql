-- the rows that are kept
SELECT 1 AS discreet_row FROM source;
-- the answer
SELECT count(*) AS m0 FROM (SELECT * FROM kept) AS kept;
