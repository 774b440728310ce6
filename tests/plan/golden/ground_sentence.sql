-- ground: 1 EXIST x Cancer(x)

-- duckdb
SELECT
  "w0o"."atoms" AS "e0"
FROM (
  SELECT
    1 AS "one"
) AS "one"
LEFT JOIN (
  SELECT
    LIST_SORT(ARRAY_AGG(DISTINCT "w0o_atom"."atom")) AS "atoms"
  FROM "memory"."sqlrl"."atom_Cancer" AS "w0o_atom"
  HAVING
    COUNT(*) > 0
) AS "w0o"
  ON TRUE;

-- spark
SELECT
  `w0o`.`atoms` AS `e0`
FROM (
  SELECT
    1 AS `one`
) AS `one`
LEFT JOIN (
  SELECT
    ARRAY_SORT(COLLECT_LIST(DISTINCT `w0o_atom`.`atom`)) AS `atoms`
  FROM `memory`.`sqlrl`.`atom_Cancer` AS `w0o_atom`
  HAVING
    COUNT(*) > 0
) AS `w0o`
  ON TRUE;
