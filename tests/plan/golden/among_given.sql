-- among: 1 Smokes(x) => Cancer(x)

SELECT
  "o0"."atom" AS "l0",
  "o1"."atom" AS "l1",
  COUNT(*) AS "multiplicity"
FROM (
  SELECT
    "a"."atom",
    "a"."a0"
  FROM "memory"."sqlrl"."atom_Cancer" AS "a"
  JOIN "memory"."sqlrl"."scratch_world" AS "w"
    ON "w"."atom" = "a"."atom"
) AS "o0"
INNER JOIN (
  SELECT
    "a"."atom",
    "a"."a0"
  FROM "memory"."sqlrl"."atom_Smokes" AS "a"
  JOIN "memory"."sqlrl"."scratch_world" AS "w"
    ON "w"."atom" = "a"."atom"
  UNION ALL
  SELECT
    0 AS "atom",
    "a0"
  FROM "memory"."sqlrl"."fact_Smokes"
  WHERE
    "given" AND "truth"
) AS "o1"
  ON "o1"."a0" = "o0"."a0"
GROUP BY
  "o0"."atom",
  "o1"."atom";
