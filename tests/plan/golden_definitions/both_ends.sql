-- near: near(x, y) :- parent(x, y). near(x, z) :- near(x, y), parent(y, z). near(x, z) :- near(y, z), parent(y, x).

WITH RECURSIVE "closure"("a0", "a1") AS (
  SELECT DISTINCT
    "t0"."a0" AS "a0",
    "t0"."a1" AS "a1"
  FROM "memory"."sqlrl"."fact_parent" AS "t0"
  UNION
  (
    SELECT
      "t0"."a0" AS "a0",
      "t1"."a1" AS "a1"
    FROM "closure" AS "t0"
    INNER JOIN "memory"."sqlrl"."fact_parent" AS "t1"
      ON "t1"."a0" = "t0"."a1"
    UNION ALL
    SELECT
      "t1"."a1" AS "a0",
      "t0"."a1" AS "a1"
    FROM "closure" AS "t0"
    INNER JOIN "memory"."sqlrl"."fact_parent" AS "t1"
      ON "t1"."a0" = "t0"."a0"
  )
)
SELECT
  "a0",
  "a1"
FROM "closure";
