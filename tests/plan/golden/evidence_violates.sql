-- violated: Friends(x, y) => Smokes(y).

SELECT
  "t0"."a0" AS "v0",
  "t0"."a1" AS "v1"
FROM "memory"."sqlrl"."fact_Friends" AS "t0"
INNER JOIN (
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
  ON "o0"."a0" = "t0"."a1"
WHERE
  "o0"."atom" = 0;
