-- ground: 1 Smokes(x) v EXIST y (Friends(y, y) ^ Cancer(y))

SELECT
  "o0"."atom" AS "l0",
  "w0o"."atoms" AS "e0",
  COUNT(*) AS "multiplicity"
FROM (
  SELECT
    "atom",
    "a0"
  FROM "memory"."sqlrl"."atom_Smokes"
  UNION ALL
  SELECT
    0 AS "atom",
    "a0"
  FROM "memory"."sqlrl"."fact_Smokes"
  WHERE
    "given" AND NOT "truth"
) AS "o0"
LEFT JOIN (
  SELECT
    LIST_SORT(ARRAY_AGG(DISTINCT "w0o_atom"."atom")) AS "atoms"
  FROM "memory"."sqlrl"."fact_Friends" AS "w0o_t0"
  INNER JOIN "memory"."sqlrl"."atom_Cancer" AS "w0o_atom"
    ON "w0o_atom"."a0" = "w0o_t0"."a0"
  WHERE
    "w0o_t0"."a1" = "w0o_t0"."a0"
  HAVING
    COUNT(*) > 0
) AS "w0o"
  ON TRUE
GROUP BY
  "o0"."atom",
  "w0o"."atoms";
