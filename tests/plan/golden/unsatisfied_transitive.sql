-- unsatisfied: 1 Friends(x, y) ^ Cancer(x) => Cancer(y)

SELECT
  "o0"."atom" AS "l0",
  "o1"."atom" AS "l1"
FROM "memory"."sqlrl"."fact_Friends" AS "t0"
INNER JOIN (
  SELECT
    "a"."atom",
    "a"."a0"
  FROM "memory"."sqlrl"."atom_Cancer" AS "a"
  JOIN "memory"."sqlrl"."scratch_world" AS "w"
    ON "w"."atom" = "a"."atom"
) AS "o0"
  ON "o0"."a0" = "t0"."a0"
INNER JOIN (
  SELECT
    "a"."atom",
    "a"."a0"
  FROM "memory"."sqlrl"."atom_Cancer" AS "a"
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM "memory"."sqlrl"."scratch_world" AS "w"
      WHERE
        "w"."atom" = "a"."atom"
    )
) AS "o1"
  ON "o1"."a0" = "t0"."a1"
WHERE
  "t0"."a0" <> "t0"."a1";
