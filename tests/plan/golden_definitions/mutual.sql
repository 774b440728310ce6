-- even: even(x) :- person(x), !parent(_, x). odd(y) :- even(x), parent(x, y). even(y) :- odd(x), parent(x, y). odd(x) :- even(x), rain(x, _).

WITH RECURSIVE "closure"("predicate", "a0") AS (
  SELECT DISTINCT
    CAST(0 AS INT) AS "predicate",
    "t0"."a0" AS "a0"
  FROM "memory"."sqlrl"."fact_person" AS "t0"
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM "memory"."sqlrl"."fact_parent" AS "n0"
      WHERE
        "n0"."a1" = "t0"."a0"
    )
  UNION
  (
    SELECT
      CAST(0 AS INT) AS "predicate",
      "t1"."a1" AS "a0"
    FROM "closure" AS "t0"
    INNER JOIN "memory"."sqlrl"."fact_parent" AS "t1"
      ON "t1"."a0" = "t0"."a0"
    WHERE
      "t0"."predicate" = 1
    UNION ALL
    SELECT
      CAST(1 AS INT) AS "predicate",
      "t1"."a1" AS "a0"
    FROM "closure" AS "t0"
    INNER JOIN "memory"."sqlrl"."fact_parent" AS "t1"
      ON "t1"."a0" = "t0"."a0"
    WHERE
      "t0"."predicate" = 0
    UNION ALL
    SELECT
      CAST(1 AS INT) AS "predicate",
      "t0"."a0" AS "a0"
    FROM "closure" AS "t0"
    INNER JOIN "memory"."sqlrl"."fact_rain" AS "t1"
      ON "t1"."a0" = "t0"."a0"
    WHERE
      "t0"."predicate" = 0
  )
)
SELECT
  "a0"
FROM "closure"
WHERE
  "predicate" = 0;
