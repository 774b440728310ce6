-- ground: 1 EXIST x Cancer(x)

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
