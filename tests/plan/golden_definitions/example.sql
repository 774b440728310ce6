-- far: far(p, q) :- next(p, q). far(p, r) :- next(p, q), far(q, r), !next(r, p).

WITH RECURSIVE "closure"("example", "a0", "a1") AS (
  SELECT DISTINCT
    "t0"."example" AS "example",
    "t0"."a0" AS "a0",
    "t0"."a1" AS "a1"
  FROM "memory"."sqlrl"."fact_next" AS "t0"
  UNION
  SELECT
    "t0"."example" AS "example",
    "t0"."a0" AS "a0",
    "t1"."a1" AS "a1"
  FROM "memory"."sqlrl"."fact_next" AS "t0"
  INNER JOIN "closure" AS "t1"
    ON "t1"."example" = "t0"."example" AND "t1"."a0" = "t0"."a1"
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM "memory"."sqlrl"."fact_next" AS "n0"
      WHERE
        (
          "n0"."example" = "t0"."example" AND "n0"."a0" = "t1"."a1"
        )
        AND "n0"."a1" = "t0"."a0"
    )
)
SELECT
  "example",
  "a0",
  "a1"
FROM "closure";
